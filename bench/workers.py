"""The processes of a speed comparison: started once, asked in turn, stopped in between."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent
STYLES = ("heads", "sdpa")
# Every switch by which the parts of PyTorch can be kept from AVX-512.
TORCH_AVX2 = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "DNNL_MAX_CPU_ISA": "AVX2",
}


class Worker:
    """A process that answers one line of JSON with one; it does not run while nobody asks it."""

    def __init__(self, name, command, threads, environment=None, styles=(None,)):
        self.name, self.command, self.styles = name, command, styles
        self.environment = {**os.environ, "BENCH_THREADS": str(threads), **(environment or {})}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment
        )
        self.hello = self._read()
        self._pause()

    def ask(self, seconds, **request):
        """The answer to a request of about `seconds`; an answer that is an error becomes `RuntimeError`."""
        self._resume()
        self.process.stdin.write(json.dumps({**request, "seconds": seconds}) + "\n")
        self.process.stdin.flush()
        answer = self._read()
        self._pause()
        if "error" in answer:
            raise RuntimeError(f"{self.name}: {answer['error']}")
        return answer

    def memory(self, cell, n):
        """Resident sizes around one iteration of a cell in a process of its own, of the style that takes least."""
        found = []
        for style in self.styles:
            command = [*self.command, "--memory", cell, str(n), *(["--style", style] if style else [])]
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=self.environment
            )
            answer = json.loads((done.stdout.splitlines() or ["{}"])[-1])
            if done.returncode != 0 or not {"before_mib", "peak_mib"} <= answer.keys():
                raise RuntimeError(f"{self.name}: no sizes from --memory {cell} {n} (exit code {done.returncode})")
            sizes = {name: answer[name] for name in ("before_mib", "peak_mib")}
            found.append(sizes | ({"style": style} if style else {}))
        return min(found, key=lambda sizes: sizes["peak_mib"] - sizes["before_mib"])

    def seconds_used(self):
        """Processor time used so far, all threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        """Ends the process."""
        self._resume()
        self.process.stdin.close()
        self.process.wait(timeout=30)

    def _read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name}: the worker ended (exit code {self.process.wait()})")
        return json.loads(line)

    def _pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def _resume(self):
        self.process.send_signal(signal.SIGCONT)


def build_regard():
    """Builds our worker and gives its path; together with the program, so that both share the compiled dependencies."""
    command = ["cargo", "build", "--release", "--message-format=json", "-p", "regard-cli", "-p", "regard-bench"]
    built = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=BENCH)
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message.get("target", {}).get("name") == "regard-bench":
            return message["executable"]
    sys.exit("cargo built no regard-bench")


def build_override(folder):
    """Compiles the library that makes MKL take its AVX-512 path."""
    library = Path(folder) / "mkl_avx512.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, BENCH / "mkl_avx512.c"], check=True)
    return library


def write_vehicles(ours, folder):
    """Has our worker write what both sides of the `cvrp` cell read; the environment for their workers."""
    subprocess.run([ours, "--vehicles", folder], check=True)
    return {"BENCH_VEHICLES": str(folder)}


def start(names, cells, python, threads, folder):
    """Starts the workers named for the cells; `folder` is for temporary files."""
    needs_ours = "cvrp" in cells or any(name.startswith("regard") for name in names)
    ours = build_regard() if needs_ours else None
    shared = write_vehicles(ours, folder) if "cvrp" in cells else {}
    torch = [python, str(BENCH / "attention_model.py")]
    makers = {
        "regard": lambda: Worker("regard", [ours], threads, shared),
        "regard-avx2": lambda: Worker("regard-avx2", [ours], threads, shared | {"REGARD_SIMD": "avx2"}),
        "torch": lambda: Worker("torch", torch, threads, shared, STYLES),
        "torch-forced": lambda: Worker(
            "torch-forced", torch, threads, shared | {"LD_PRELOAD": str(build_override(folder))}, STYLES
        ),
        "torch-avx2": lambda: Worker("torch-avx2", torch, threads, shared | TORCH_AVX2, STYLES),
    }
    return {name: makers[name]() for name in names}
