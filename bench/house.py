"""Checks of the repository's structure, in plain Python without dependencies.

    python3 bench/house.py

prints what it finds and ends with exit code 1 when a check fails. Each check is a function that returns a list of
violations; add it to CHECKS.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Every routing problem has one folder; one line of the registry names it.
PROBLEMS = ROOT / "crates/regard-routing/src/problems"
REGISTRY = ROOT / "crates/regard-routing/src/registry.rs"

# Files that may name single problems, with the reason.
NAMING = {
    "crates/regard/src/experiment/built_in.rs": "the list of experiment files",
    "crates/regard/src/routes/import/problem.rs": "the importer of Kool's weights and its words",
    "crates/regard/src/routes/model/config.rs": "presets",
    "crates/regard/src/routes/experiment/mod.rs": "presets",
    "crates/regard/src/routes/experiment/train.rs": "presets",
    "crates/regard-cli/src/report/bench.rs": "the printed table of a paper",
}


# Words for problems and columns that a file may have beside these, with the reason.
WORDS = {
    "crates/regard-cli/page/src/rooms/routes/instance.ts": ("tsp cvrp op pctsp", "TSPLIB files and random instances of the papers"),
    "crates/regard-cli/page/src/rooms/routes/room.ts": ("tsp cvrp op pctsp demand penalty", "buttons for random instances, files of routes, the word for a cost"),
    "crates/regard-cli/src/report/plain.rs": ("prize", "the word for a value that is maximised"),
    "crates/regard-cli/src/serve/router.rs": ("ready", "the state of the service"),
    "crates/regard-py/python/regard/rl4co.py": ("tsp cvrp sdvrp op pctsp spctsp pdp demand prize penalty", "environments of RL4CO"),
    "crates/regard-py/python/regard/routes.py": (
        "tsp demand prize penalty real_prize pickup ready due service",
        "arguments of `Instance`, and names in examples",
    ),
    "crates/regard-routing/src/formats/best_known.rs": ("prize", "words in comments of files"),
}


def sources():
    """Rust sources of the crates that deal with routes, without tests."""
    crates = ("regard-routing", "regard", "regard-cli")
    paths = [path for crate in crates for path in (ROOT / "crates" / crate / "src").glob("**/*.rs")]
    for path in sorted(paths):
        parts = path.relative_to(ROOT).parts
        if "tests" in parts or path.stem.endswith("tests"):
            continue
        yield path


def code(path):
    """Lines of a source with their numbers, without comments, help texts and unit tests.

    Doc comments of command-line arguments and `after_help` texts are documentation.
    """
    lines, depth, quoted = [], None, False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("#[cfg(test)]"):
            break
        if quoted:
            quoted = not re.search(r'"\)?\]?,?$', stripped)
            continue
        if re.search(r'after_(long_)?help = "\\$', stripped):
            quoted = True
            continue
        if stripped.startswith("//"):
            continue
        lines.append((number, re.sub(r"\s//\s.*", "", line)))
    return lines


def other_sources():
    """Sources of the page and of the Python package, which know problems by what the program says."""
    yield from sorted((ROOT / "crates/regard-cli/page/src").glob("**/*.ts"))
    yield from sorted((ROOT / "crates/regard-py/python").glob("**/*.py"))


def other_code(path):
    """Lines of a source in TypeScript or Python with their numbers, without comments of a line and examples."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip().startswith(("//", "#", "*", "/*", ">>>")):
            yield number, line


def column_names():
    """Names of the columns that problems declare."""
    texts = (path.read_text(encoding="utf-8") for path in PROBLEMS.glob("*/**/*.rs"))
    return {name for text in texts for name in re.findall(r'\bnames: &\["(\w+)"', text)}


def problem_names():
    """Names of the problems: the strings of `Problem::NAME` and the types of their folders."""
    names, types = set(), set()
    for path in PROBLEMS.glob("*/**/*.rs"):
        text = path.read_text(encoding="utf-8")
        names.update(re.findall(r'const NAME: &\'static str = "(\w+)"', text))
        types.update(re.findall(r"impl (?:SolverInstance|Problem) for (\w+)", text))
        types.update(re.findall(r"impl State for (\w+)", text))
    return names, types


def one_folder_for_one_problem():
    """No source outside a problem's folder and the registry names a single problem or one of its columns."""
    names, types = problem_names()
    quoted = "|".join(sorted(names | column_names()))
    words = sorted(types) + [f"{name}::" for name in sorted(names)]
    words = "|".join(rf"(?<!\w){re.escape(word)}" + (r"\b" if word[-1].isalnum() else "") for word in words)
    # Keys of objects in TypeScript have no quotes.
    elsewhere = re.compile(rf"""["']({quoted})["']|(?<![\w.$])({'|'.join(sorted(names))})(?=\s*:)""")
    in_rust = re.compile(rf'{words}|"({quoted})"')
    found = []
    for path in [*sources(), *other_sources()]:
        name = path.relative_to(ROOT).as_posix()
        if PROBLEMS in path.parents or path == REGISTRY or name in NAMING:
            continue
        is_rust, allowed = path.suffix == ".rs", WORDS.get(name, ("", ""))[0].split()
        for number, line in code(path) if is_rust else other_code(path):
            for match in (in_rust if is_rust else elsewhere).finditer(line):
                if match.group(match.lastindex or 0) not in allowed:
                    found.append(f"{name}:{number}: names the problem or column `{match.group()}`: {line.strip()[:160]}")
    return found


def foundations_know_no_family():
    """`store`, `experiment` and `train` import no family."""
    families = re.compile(r"\b(?:crate::(?:routes|sets|graphs|series)|regard_routing|regard_data::(?:sets|graphs|series))\b")
    found = []
    for folder in ("store", "experiment", "train"):
        for path in sorted((ROOT / "crates/regard/src" / folder).glob("**/*.rs")):
            if path.stem.endswith("tests"):
                continue
            for number, line in code(path):
                if families.search(line):
                    found.append(f"{path.relative_to(ROOT).as_posix()}:{number}: {line.strip()}")
    return found


def modules(source):
    """Modules of a crate by their paths, with their files; the root is the empty path."""
    found = {}
    for path in source.glob("**/*.rs"):
        parts = path.relative_to(source).with_suffix("").parts
        found[parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts] = path
    return found


def spelled(prefix, text):
    """Paths of a `use`, with its braces written out."""
    if "{" not in text:
        yield prefix + [part.split(" as ")[0].strip() for part in text.strip().split("::")]
        return
    head, rest = text.split("{", 1)
    prefix = prefix + [part.strip() for part in head.split("::") if part.strip()]
    depth, piece = 0, ""
    for letter in rest.rsplit("}", 1)[0] + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if piece.strip():
                yield from spelled(prefix, piece)
            piece = ""
        else:
            piece += letter


def imports(own, path, known):
    """Modules of the same crate that a module names."""
    text = "\n".join(line for _, line in code(path))
    text = re.sub(r'"(?:\\.|[^"\\])*"', '""', text)
    named = [parts for use in re.findall(r"\buse\s+([^;]+);", text) for parts in spelled([], use)]
    named += [parts.split("::") for parts in re.findall(r"\b(?:crate|super|self)(?:::\w+)+", text)]
    for parts in named:
        if parts[0] not in ("crate", "super", "self"):
            continue
        base = [] if parts[0] == "crate" else list(own)
        while parts and parts[0] in ("crate", "super", "self"):
            if parts[0] == "super":
                base = base[:-1]
            parts = parts[1:]
        base += parts
        while tuple(base) not in known:
            base = base[:-1]
        yield tuple(base)


def no_circles():
    """No circle between folders: of two folders side by side, one does not know the other."""
    found = []
    for crate in sorted((ROOT / "crates").iterdir()):
        known = modules(crate / "src")
        folders = {own: own if path.name == "mod.rs" else own[:-1] for own, path in known.items()}
        arrows = {}
        for own, path in known.items():
            if "tests" in own or own[-1:] and own[-1].endswith("tests"):
                continue
            for other in imports(own, path, known):
                source, target = folders[own], folders[other]
                depth = next((d for d, (a, b) in enumerate(zip(source, target)) if a != b), None)
                if depth is not None:
                    pair = (source[: depth + 1], target[: depth + 1])
                    arrows.setdefault(pair, f"{'::'.join(own)} knows {'::'.join(other)}")
        reach = {}
        for source, target in arrows:
            reach.setdefault(source, set()).add(target)
        for start in sorted(reach):
            stack, seen = [(target, (start, target)) for target in reach[start]], set()
            while stack:
                place, way = stack.pop()
                if place == start:
                    if start == min(way):
                        names = " -> ".join("::".join(part) for part in way)
                        found.append(f"{crate.name}: {names} ({arrows[way[0], way[1]]})")
                    break
                if place not in seen:
                    seen.add(place)
                    stack.extend((target, (*way, target)) for target in reach.get(place, ()))
    return found


def one_module_style():
    """A module with children is `name/mod.rs`."""
    paths = (ROOT / "crates").glob("*/src/**/*.rs")
    return [path.relative_to(ROOT).as_posix() for path in paths if path.with_suffix("").is_dir()]


CHECKS = [one_folder_for_one_problem, foundations_know_no_family, no_circles, one_module_style]


def main():
    failed = False
    for check in CHECKS:
        violations = check()
        print(f"{'FAILED' if violations else 'ok':6} {check.__doc__.splitlines()[0]}")
        for violation in violations:
            print(f"       {violation}")
        failed = failed or bool(violations)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
