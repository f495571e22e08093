"""Description and load of the machine, and the measured commit."""

import os
import re
import subprocess
from pathlib import Path


def busy():
    """Processor seconds used by everybody since the start of the machine, stolen time included."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    user, nice, system, _idle, _wait, irq, soft, steal = fields
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def description():
    """Processor, cores and memory of the machine."""
    text = Path("/proc/cpuinfo").read_text()
    field = lambda name: (re.findall(rf"^{name}\s*: (.*)$", text, re.MULTILINE) or ["unknown"])[0]
    memory = int(re.findall(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())[0])
    return {
        "cpu": field("model name"),
        "family": field("cpu family"),
        "model": field("model"),
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**20),
    }


def slug(described):
    """Processor, family and model of a description, as a part of a file's name."""
    cpu = re.sub(r"[^a-z0-9]+", "-", described["cpu"].lower()).strip("-")
    return f"{cpu}-{described['family']}-{described['model']}"


def commit(folder):
    """The measured commit; with `+` if files differ from it."""
    git = lambda *words: subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True)
    head = git("rev-parse", "--short", "HEAD")
    if head.returncode != 0:
        return None
    return head.stdout.strip() + ("+" if git("status", "--porcelain").stdout.strip() else "")
