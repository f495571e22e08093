"""Compares the base learners of `regard-base` with scikit-learn and LightGBM on the same matrices and folds.

    pip install scikit-learn lightgbm rdkit pandas
    cargo build --release -p regard-base --example tabular
    REGARD_SHARED=../shared python bench/base_tabular.py [--sets musk1,esol] [--seeds 3] [--out table.json]

The program is found in CARGO_TARGET_DIR (or target).
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

warnings.filterwarnings("ignore")
DATA = pathlib.Path(os.environ.get("REGARD_SHARED", "../shared")) / "data"
PROGRAM = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "release/examples/tabular"


def bags(name):
    table = pd.read_csv(DATA / f"sets/mil/{name}.csv", header=None)
    groups = table.groupby(1, sort=False)
    features = table.columns[2:]
    pooled = pd.concat([groups[features].agg(kind) for kind in ("mean", "min", "max", "std")] + [groups.size()], axis=1)
    return pooled.fillna(0).to_numpy(np.float32), (groups[0].first() > 0).to_numpy(int), [], True


def molecules(name):
    from rdkit import Chem, RDLogger
    from rdkit.Chem import Descriptors, rdFingerprintGenerator

    RDLogger.DisableLog("rdApp.*")
    file, smiles, target = {
        "esol": ("ESOL_delaney-processed.csv", "smiles", "measured log solubility in mols per litre"),
        "freesolv": ("FreeSolv_SAMPL.csv", "smiles", "expt"),
        "bbbp": ("BBBP.csv", "smiles", "p_np"),
    }[name]
    table = pd.read_csv(DATA / "graphs/moleculenet" / file)
    kept = [(Chem.MolFromSmiles(s), y) for s, y in zip(table[smiles], table[target])]
    kept = [(m, y) for m, y in kept if m is not None]
    morgan = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    counts = np.array([morgan.GetCountFingerprintAsNumPy(m) for m, _ in kept], np.float32)
    with np.errstate(all="ignore"):
        others = np.array([list(Descriptors.CalcMolDescriptors(m).values()) for m, _ in kept], np.float64)
    others = np.nan_to_num(np.clip(others, -1e9, 1e9)).astype(np.float32)
    y = np.array([y for _, y in kept])
    return np.hstack([others, counts]), y.astype(int) if name == "bbbp" else y, list(range(others.shape[1], others.shape[1] + 2048)), name == "bbbp"


def wl(name, rounds=3):
    """Counts of Weisfeiler-Lehman labels of graphs in the text format of powerful-gnns."""
    words = (DATA / f"graphs/tu/{name}.txt").read_text().split("\n")
    at, graphs, y = 1, [], []
    for _ in range(int(words[0])):
        size, label = map(int, words[at].split()[:2])
        rows = [list(map(int, line.split()[: 2 + int(line.split()[1])])) for line in words[at + 1 : at + 1 + size]]
        graphs.append(([r[0] for r in rows], [r[2:] for r in rows]))
        y.append(label)
        at += 1 + size
    columns, counted = {}, []
    for labels, edges in graphs:
        counts = {}
        labels = [str(label) for label in labels]
        for round_ in range(rounds + 1):
            for label in labels:
                column = columns.setdefault((round_, label), len(columns))
                counts[column] = counts.get(column, 0) + 1
            labels = [str(hash((labels[v], *sorted(labels[u] for u in edges[v])))) for v in range(len(labels))]
        counted.append(counts)
    x = np.zeros((len(graphs), len(columns)), np.float32)
    for row, counts in enumerate(counted):
        for column, count in counts.items():
            x[row, column] = count
    x = x[:, (x > 0).sum(0) >= 2]
    _, y = np.unique(y, return_inverse=True)
    return x, y, list(range(x.shape[1])), True


SETS = {
    **{name: (lambda name=name: bags(name)) for name in ("musk1", "elephant", "fox", "tiger", "corel_african", "mutagenesis2")},
    **{name: (lambda name=name: molecules(name)) for name in ("esol", "freesolv", "bbbp")},
    **{name.lower(): (lambda name=name: wl(name)) for name in ("MUTAG", "PROTEINS")},
}


def peers(classes, counts, rows):
    from lightgbm import LGBMClassifier, LGBMRegressor

    few = rows < 500
    if not classes:
        svr = GridSearchCV(make_pipeline(StandardScaler(), SVR()), {"svr__C": [1, 10, 100]}, cv=3)
        return {
            "linear": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-1, 5, 13))),
            "rbf": svr,
            "forest": RandomForestRegressor(500, max_features=1 / 3, n_jobs=2, random_state=0),
            "boosting": LGBMRegressor(n_jobs=2, verbose=-1),
        }
    svc = GridSearchCV(
        make_pipeline(StandardScaler(), SVC()),
        {"svc__C": [0.1, 1, 10, 100] if few else [1, 10], "svc__gamma": ["scale"]}, cv=5 if few else 3,
        scoring="roc_auc_ovr" if False else None,
    )
    found = {
        "linear": make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=np.logspace(-5, 1, 7), cv=3, max_iter=300, scoring="neg_log_loss", n_jobs=2)),
        "rbf": svc,
        "forest": RandomForestClassifier(500, n_jobs=2, random_state=0),
        "boosting": LGBMClassifier(n_jobs=2, verbose=-1),
    }
    return found


def score(model, x, y, classes):
    if not classes:
        return {"rmse": float(np.sqrt(np.mean((model.predict(x) - y) ** 2)))}
    found = {"balanced_accuracy": balanced_accuracy_score(y, model.predict(x))}
    binary = len(np.unique(y)) == 2
    if binary:
        ranks = model.predict_proba(x)[:, 1] if hasattr(model, "predict_proba") else model.decision_function(x)
        found["roc_auc"] = roc_auc_score(y, ranks)
    if hasattr(model, "predict_proba"):
        found["loss"] = log_loss(y, model.predict_proba(x), labels=model.classes_)
    return found


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sets", default=",".join(SETS))
    arguments.add_argument("--seeds", type=int, default=1)
    arguments.add_argument("--folds", type=int, default=5)
    arguments.add_argument("--peers", default="linear,rbf,forest,boosting")
    arguments.add_argument("--cache", help="a folder in which results of the peers are kept")
    arguments.add_argument("--out")
    arguments = arguments.parse_args()
    rows = []
    for name in arguments.sets.split(","):
        x, y, counts, classes = SETS[name]()
        cached = pathlib.Path(arguments.cache or tempfile.mkdtemp()) / f"{name}-{arguments.seeds}-{arguments.folds}.json"
        results = json.loads(cached.read_text()) if cached.exists() else []
        known = bool(results)
        for seed in range(arguments.seeds):
            cut = (StratifiedKFold if classes else KFold)(arguments.folds, shuffle=True, random_state=seed)
            fold = np.zeros(len(y), int)
            for at, (train, test) in enumerate(cut.split(x, y)):
                fold[test] = at
                if known:
                    continue
                for peer, model in peers(classes, counts, len(train)).items():
                    if peer not in arguments.peers.split(","):
                        continue
                    begun = time.time()
                    model.fit(x[train], y[train])
                    results.append({"who": f"peer {peer}", "seconds": time.time() - begun, **score(model, x[test], y[test], classes)})
            with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
                names = [f"count:{c}" if c in set(counts) else f"x{c}" for c in range(x.shape[1])]
                table = pd.DataFrame(x, columns=names)
                table.insert(0, "fold", fold)
                table.insert(0, "target", y)
                table.to_csv(file.name, index=False)
                if not known:
                    cached.parent.mkdir(parents=True, exist_ok=True)
                output = subprocess.run([PROGRAM, file.name, "classes" if classes else "numbers", str(seed)], check=True, capture_output=True, text=True)
            for one in json.loads(output.stdout):
                rows.append({"set": name, "who": "ours stack", "seconds": one["seconds"], **one["stack"]})
                for member in one["members"]:
                    rows.append({"set": name, "who": f"ours {member['name']}", "seconds": member["seconds"], **member["metrics"]})
        if arguments.cache and not known:
            cached.write_text(json.dumps(results))
        rows.extend({"set": name, **result} for result in results)
        frame = pd.DataFrame([row for row in rows if row["set"] == name])
        shown = [c for c in ("roc_auc", "balanced_accuracy", "loss", "rmse", "seconds") if c in frame and frame[c].notna().any()]
        table = frame.groupby("who")[shown].agg(["mean", "sem"]).round(4)
        print(f"\n{name}: {x.shape}\n{table.to_string()}", flush=True)
    if arguments.out:
        pathlib.Path(arguments.out).write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
