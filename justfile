# Tasks of the project; `just` alone lists them.

# List the tasks
default:
    @just --list

# Build the program, optimised
build:
    cargo build --release

# Run every test, documentation examples too
test *ARGS:
    cargo test --workspace {{ ARGS }}

# Everything that has to pass before a change is taken
ci:
    .ci/run

# Another device computes what the CPU computes: needs a Vulkan driver (Debian: mesa-vulkan-drivers)
devices:
    cargo test --profile devices -p regard --features wgpu --test devices

# Licences, sources, duplicates and advisories of the dependencies: needs `cargo install --locked cargo-deny`
deny *ARGS:
    cargo deny check {{ ARGS }}

# Format
fmt:
    cargo fmt --all

# Build the documentation; a broken link is an error
doc *ARGS:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps {{ ARGS }}

# Compare with PyTorch: needs a Python with torch (BENCH_PYTHON) and an idle machine
bench *ARGS:
    python3 bench/compare.py {{ ARGS }}

# Peak memory of 10,000 greedy tours of 100 places, for example `just memory --model DIR`
memory *ARGS: build
    python3 bench/memory.py --limit 512 --save results/memory-eval-tsp100.json -- \
        target/release/regard eval --paper-set tsp100 --decode greedy --json {{ ARGS }}

# Collect accuracy, for example `just collect eval --set tsp20 --model DIR` or `just collect solve FILES`
collect *ARGS: build
    python3 bench/collect.py {{ ARGS }}

# Generate RESULTS.md and the pages of results/ from saved runs
results:
    python3 bench/results.py

# Fuzz a reader: `just fuzz` lists the targets, `just fuzz TARGET` runs one
fuzz *ARGS:
    cd fuzz && cargo +nightly fuzz {{ if ARGS == "" { "list" } else { "run " + ARGS } }}

# Run every fuzz target for some minutes: `just fuzz-campaign --minutes 10`
fuzz-campaign *ARGS:
    python3 fuzz/campaign.py {{ ARGS }}
