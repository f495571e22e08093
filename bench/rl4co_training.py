"""Training of RL4CO's Attention Model by REINFORCE on the CPU, as a user writes it; prints the seconds of its steps.

    python bench/rl4co_training.py --problem tsp --nodes 50 --batch 512 --steps 10

The baseline is the exponential one, so that a step is one sampled rollout and its gradient. Time is taken from the end of a
step to the end of the next one; instances are drawn before the epoch, and their time does not count.
"""

import argparse
import contextlib
import json
import logging
import sys
import time
import warnings


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problem", choices=("tsp", "cvrp", "pdp"), default="tsp")
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    # Lightning prints to standard output.
    with contextlib.redirect_stdout(sys.stderr):
        found = measure(options)
    print(json.dumps(found))


def measure(options):
    """Versions, parameters and the seconds of each step but the first two."""
    import lightning
    import rl4co
    import torch
    from rl4co.envs import CVRPEnv, PDPEnv, TSPEnv
    from rl4co.models import AttentionModel
    from rl4co.utils import RL4COTrainer

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(options.threads)
    lightning.seed_everything(1234, verbose=False)
    env = {"tsp": TSPEnv, "cvrp": CVRPEnv, "pdp": PDPEnv}[options.problem](generator_params={"num_loc": options.nodes})
    model = AttentionModel(
        env,
        baseline="exponential",
        batch_size=options.batch,
        train_data_size=options.batch * (options.steps + 2),
        val_data_size=64,
        val_batch_size=64,
        test_data_size=64,
        optimizer_kwargs={"lr": 1e-4},
    )
    ends = []

    class Clock(lightning.Callback):
        def on_train_batch_end(self, *_):
            ends.append(time.perf_counter())

    trainer = RL4COTrainer(
        max_epochs=1,
        accelerator="cpu",
        devices=1,
        precision="32-true",
        gradient_clip_val=1.0,
        callbacks=[Clock()],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    trainer.fit(model)
    return {
        "seconds": [after - before for before, after in zip(ends[1:], ends[2:])],
        "parameters": sum(one.numel() for one in model.policy.parameters()),
        "versions": {"rl4co": rl4co.__version__, "torch": torch.__version__, "lightning": lightning.__version__},
    }


if __name__ == "__main__":
    main()
