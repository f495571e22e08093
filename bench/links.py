#!/usr/bin/env python3
"""Checks that every relative link and heading link of the repository's markdown pages leads somewhere.

    python bench/links.py

Exit code 1 lists the broken links as `page:line: target`.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def main():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    pages = [ROOT / name for name in sorted(set(listed.stdout.splitlines())) if (ROOT / name).exists()]
    broken = [f"{page.relative_to(ROOT)}:{line}: {target}" for page in pages for line, target in links(page) if not leads(page, target)]
    sys.exit("\n".join(broken) if broken else 0)


def links(page):
    """Relative links outside of code, with their line numbers."""
    blank = lambda code: re.sub(r"[^\n]", " ", code.group())
    text = re.sub(r"^```.*?^```|`[^`]*`", blank, page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for link in LINK.finditer(text):
        if "://" not in link[1] and not link[1].startswith("mailto:"):
            yield text.count("\n", 0, link.start()) + 1, link[1]


def leads(page, target):
    """If true, the file exists and has the heading."""
    name, _, heading = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    return file.exists() and (not heading or heading in headings(file))


def headings(page):
    """Anchors of a page's headings, as GitHub and mdBook make them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


if __name__ == "__main__":
    main()
