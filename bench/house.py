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
    """No source outside a problem's folder and the registry names a single problem."""
    names, types = problem_names()
    words = sorted(types) + [f'"{name}"' for name in sorted(names)] + [f"{name}::" for name in sorted(names)]
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(word)}" + (r"\b" if word[-1].isalnum() else "") for word in words))
    found = []
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        if PROBLEMS in path.parents or path == REGISTRY or name in NAMING:
            continue
        for number, line in code(path):
            match = pattern.search(line)
            if match:
                found.append(f"{name}:{number}: names the problem `{match.group()}`: {line.strip()}")
    return found


def foundations_know_no_routes():
    """`store` and `experiment` import no routing family."""
    found = []
    for folder in ("crates/regard/src/store", "crates/regard/src/experiment"):
        for path in sorted((ROOT / folder).glob("**/*.rs")):
            if path.stem.endswith("tests"):
                continue
            for number, line in code(path):
                if re.search(r"\b(crate::routes|regard_routing)\b", line):
                    found.append(f"{path.relative_to(ROOT).as_posix()}:{number}: {line.strip()}")
    return found


CHECKS = [one_folder_for_one_problem, foundations_know_no_routes]


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
