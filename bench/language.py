"""Checks that names and sentences are the field's: nothing of the list of retired words is left.

    python3 bench/language.py

Retired identifiers are looked for in code; retired settings in experiments, models, strings and settings structs;
retired sentences everywhere.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Identifiers that no code may have any more: types, functions, variants.
IDENTIFIERS = """
    Outline announce ForProblem mended Excursion Goods Solvable Author Course Lessons Portion Slot
    Told Asked Seen unlikelihood remark remarks told tell
    critic_rate least_rate rate_decay warm_steps warm_epochs warm_up_epochs clip_norm epoch_instances epoch_steps
    one_cycle_made rare_below deviation_floor mae_published accuracy_published paper_mse paper_mae
""".split()
# Names of types alone: as words of a sentence they are English.
TYPES = "Collection Drawing Checked".split()
# Modules that have the field's name now.
MODULES = "fleet selection kick improve spot".split()
# Settings by section, in files of settings and in texts such as `train.rate`.
SETTINGS = {
    "train": """rate critic_rate least_rate rate_decay warm_steps warm_epochs warm_up_epochs average clip_norm batch
        epoch_instances epoch_steps beta alpha fall patience rising one_cycle_made moving hidden sharpening views flips
        keep starts""".split(),
    "data": "held_out tested rare_below rule complete statics covariates".split(),
    "model": "shortcut composition refinements deviation_floor stable".split(),
}
SENTENCES = [
    "tells which of them counted",
    "ways to begin are compared",
    "tell the gaps",
    "tell from several places",
    "fewer atoms than five have",
    "loses to the bookkeeping",
    "How is learnt from",
    "Tell what comes after",
    "Better clusters by",
    "Values to tell",
]


def files(*patterns):
    listed = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    skipped = ("CHANGELOG.md", "bench/language.py", "golden/")
    return [name for name in listed.stdout.split("\0") if name and not name.startswith(skipped)]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def without_comments(code):
    """Rust code without comments and without the contents of strings."""
    code = re.sub(r"//[^\n]*", "", code)
    return re.sub(r'r#".*?"#|"(?:\\.|[^"\\])*"', '""', code, flags=re.S)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def identifiers():
    pattern = re.compile(r"\b(" + "|".join(IDENTIFIERS) + r")\b")
    types = re.compile(r"\b(?:struct|enum|trait|type)\s+(" + "|".join(TYPES) + r")\b")
    for name in files("*.rs", "*.py"):
        source = text(name)
        code = without_comments(source) if name.endswith(".rs") else source
        for found in [*pattern.finditer(code), *types.finditer(code)]:
            yield f"{name}:{line_of(code, found.start())}: identifier `{found[1]}`"


def modules():
    for name in files("*.rs"):
        for part in Path(name).with_suffix("").parts:
            if part in MODULES:
                yield f"{name}: module `{part}`"


def settings():
    dotted = {f"{section}.{key}" for section, keys in SETTINGS.items() for key in keys}
    pattern = re.compile(r"(?<![\w.])(train|data|model)\.([a-z_]+)\b(?![(.\w])")
    for name in files("*.md", "*.toml", "*.sh", "justfile"):
        source = text(name)
        for found in pattern.finditer(source):
            if found[0] in dotted:
                yield f"{name}:{line_of(source, found.start())}: setting `{found[0]}`"
    for name in files("*.rs"):
        source = text(name)
        for literal in re.finditer(r'"(?:\\.|[^"\\])*"|//[^\n]*', source):
            for found in pattern.finditer(literal[0]):
                if found[0] in dotted:
                    yield f"{name}:{line_of(source, literal.start())}: setting `{found[0]}`"
    for name in files("experiments/*.toml"):
        section = ""
        for number, line in enumerate(text(name).splitlines(), 1):
            if head := re.match(r"\[(\w+)\]", line):
                section = head[1]
            elif (key := re.match(r"(\w+)\s*=", line)) and key[1] in SETTINGS.get(section, ()):
                yield f"{name}:{number}: setting `{section}.{key[1]}`"
    for name in files("models/*/config.json", "models/*/manifest.json"):
        content = json.loads(text(name))
        sections = content.get("experiment", {"model": content}) if isinstance(content, dict) else {}
        for section, keys in sections.items():
            for key in keys if isinstance(keys, dict) else ():
                if key in SETTINGS.get(section, ()):
                    yield f"{name}: setting `{section}.{key}`"


def sentences():
    for name in files("*.rs", "*.md", "*.toml", "*.py", "*.snap", "*.json"):
        source = text(name)
        for sentence in SENTENCES:
            if (at := source.find(sentence)) >= 0:
                yield f"{name}:{line_of(source, at)}: sentence `{sentence}`"


def openings():
    """Doc comments that begin with a question word."""
    for name in files("crates/*.rs"):
        lines = text(name).splitlines()
        for number, line in enumerate(lines, 1):
            opens = re.match(r"\s*//[/!] (What|How|Whether)\b", line)
            before = lines[number - 2].strip() if number > 1 else ""
            if opens and not before.startswith(("///", "//!")):
                yield f"{name}:{number}: doc comment begins with `{opens[1]}`"


def main():
    found = [line for check in (identifiers, modules, settings, sentences, openings) for line in check()]
    for line in found:
        print(line)
    print(f"{len(found)} retired words and sentences are left")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
