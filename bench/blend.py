#!/usr/bin/env python3
"""Compares what `regard eval` answers with its base learners, its network, scikit-learn and LightGBM, on the same folds.

    pip install scikit-learn lightgbm rdkit pandas
    REGARD_SHARED=../shared python bench/blend.py --regard BIN [--data musk1,MUTAG] [--folds 5] [--seed 0] [--limit 720]

Each data set gives one record, `results/blend-<name>.json`. Folds are drawn once and written as lists, so that both
sides learn and are measured on the same examples. The scores of all held-out examples are pooled before a metric is
computed, as the program does; the values of single folds are saved too.

The peers are chosen for the data: of bags, pooled columns under a logistic regression, a support vector machine and a
random forest; of molecules, descriptors of RDKit and Morgan counts under a random forest and LightGBM; of graphs, a
Weisfeiler-Lehman kernel and a random forest of its counts. What they leave open is chosen by cross-validation within
the training part. Everything runs on one thread. Seconds are processor time; the program's are shared between base
learners and network in proportion to the durations that it reports. `--limit` bounds the processor time of the program.
"""

import argparse
import datetime
import os
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

# One thread, also in the libraries that read this when they are loaded.
os.environ |= {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier, LGBMRegressor
from scipy.sparse import csr_matrix, hstack
from sklearn import metrics
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import SVC

import base_tabular
import records

ROOT = Path(__file__).resolve().parent.parent
DATA = base_tabular.DATA
# File and experiment of each data set, and for molecules the column to predict.
SETS = {
    **{name: (f"sets/mil/{name}.csv", "sets/mil", "") for name in ("musk1", "elephant", "tiger", "fox", "mutagenesis2", "corel_african")},
    **{name: (f"graphs/tu/{name}.txt", "graphs/tu", "") for name in ("MUTAG", "PROTEINS", "ENZYMES")},
    "FreeSolv": ("graphs/moleculenet/FreeSolv_SAMPL.csv", "graphs/molecules", "expt"),
    "ESOL": ("graphs/moleculenet/ESOL_delaney-processed.csv", "graphs/molecules", "measured log solubility in mols per litre"),
    "BBBP": ("graphs/moleculenet/BBBP.csv", "graphs/molecules", "p_np"),
}
CLASS_METRICS = ("auc", "balanced_accuracy", "average_precision", "accuracy")
NUMBER_METRICS = ("rmse", "mae", "r2")
PENALTIES = [0.1, 1, 10, 100]
TREES = 500
INNER = 5
ROUNDS = 5
FOREST_ROUNDS = 3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--regard", default=os.environ.get("REGARD", str(ROOT / "target/release/regard")), help="the binary")
    parser.add_argument("--data", default=",".join(SETS), help="names, separated by commas")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0, help="of the folds and of the peers")
    parser.add_argument("--limit", type=int, default=720, help="processor seconds of one `regard eval`")
    parser.add_argument("--cache", type=Path, help="a folder in which answers of the program are kept")
    parser.add_argument("--out", type=Path, default=ROOT / "results")
    options = parser.parse_args()
    for name in options.data.split(","):
        record = compare(name, options)
        if record is not None:
            records.save(options.out / f"blend-{name.lower().replace('_', '-')}.json", record)


def compare(name, options):
    """The record of one data set; none if the program takes too long."""
    source, experiment, target = SETS[name]
    with tempfile.TemporaryDirectory() as folder:
        file = readable(DATA / source, Path(folder)) if target else DATA / source
        begun = time.process_time()
        y, peers = examples(name, options.seed)
        # Columns and kernels serve all peers of a data set: each is charged their time.
        prepared = time.process_time() - begun
        kind = KFold if y.dtype.kind == "f" else StratifiedKFold
        folds = list(kind(options.folds, shuffle=True, random_state=options.seed).split(np.zeros(len(y)), y))
        lists = Path(folder) / "folds"
        lists.mkdir()
        for at, (train, test) in enumerate(folds, 1):
            np.savetxt(lists / f"train_idx-{at}.txt", train, fmt="%d")
            np.savetxt(lists / f"test_idx-{at}.txt", test, fmt="%d")
        settings = [f"data.path={file}"] + (["data.smiles=smiles", f"data.target={target}"] if target else [])
        arguments = [word for setting in settings for word in ("--set", setting)]
        command = [options.regard, "eval", experiment, *arguments, "--folds-from", str(lists), "--threads", "1", "--json", "--no-progress"]
        kept = options.cache and options.cache / f"{name}-{options.folds}-{options.seed}.json"
        answer = records.answer(command, kept, options.limit)
    if answer is None:
        print(f"{name}: skipped, more than {options.limit} processor seconds", file=sys.stderr)
        return None
    result, seconds = answer["result"], answer["seconds"]
    family = experiment.split("/")[0]
    if result[family] != len(y):
        sys.exit(f"{name}: the program has {result[family]} examples, the peers {len(y)}")
    measured = NUMBER_METRICS if y.dtype.kind == "f" else CLASS_METRICS
    only = lambda values: {metric: values[metric] for metric in measured if metric in values}
    durations = result["seconds"]
    share = durations["base"] / sum(durations.values())
    ours = {
        "base": {"metrics": only(result["members"]["base"]), "seconds": seconds * share},
        "network": {"metrics": only(result["members"]["network"]), "seconds": seconds * (1 - share)},
        "blend": {"metrics": only(result), "of_folds": [only(fold) for fold in result["of_folds"]], "seconds": seconds},
    }
    bare = [f"data.path={file.name}", *settings[1:]]
    named = experiment + "".join(f" --set '{word}'" if " " in word else f" --set {word}" for word in bare)
    return {
        "format": 1,
        "kind": "blend",
        "date": datetime.date.today().isoformat(),
        "name": name,
        "family": family,
        "command": f"regard eval {named} --folds-from FOLDER --threads 1",
        "examples": len(y),
        "classes": 0 if y.dtype.kind == "f" else len(np.unique(y)),
        "folds": len(folds),
        "seed": options.seed,
        "metrics": list(measured),
        "ours": {who: spread(values) for who, values in ours.items()},
        "peers": {peer: spread(held_out(peer, fit, y, folds, prepared)) for peer, fit in peers.items()},
        "weights": result["weights"],
        "intervals": only(result["intervals"]),
        "versions": {package: version(package) for package in ("scikit-learn", "lightgbm", "rdkit", "numpy")},
    }


def readable(file, folder):
    """A copy of a table of molecules without those that RDKit cannot read: both sides then number the same rows."""
    from rdkit import Chem, RDLogger

    RDLogger.DisableLog("rdApp.*")
    table = pd.read_csv(file)
    table[[Chem.MolFromSmiles(smiles) is not None for smiles in table["smiles"]]].to_csv(folder / file.name, index=False)
    return folder / file.name


def spread(found):
    """The same with the standard errors over folds, where there are values of folds."""
    folds = found.get("of_folds", [])
    errors = {
        metric: float(np.std([fold[metric] for fold in folds], ddof=1) / np.sqrt(len(folds)))
        for metric in found["metrics"]
        if folds and all(metric in fold for fold in folds)
    }
    return found | ({"standard_error": errors} if errors else {})


def held_out(peer, fit, y, folds, prepared):
    """Metrics of a peer on the held-out examples, pooled and of each fold, with its processor seconds."""
    begun = time.process_time()
    predicted, ranks = np.zeros(len(y), y.dtype), np.zeros(len(y))
    for train, test in folds:
        predicted[test], ranks[test] = fit(train, test)
    found = {"metrics": score(y, predicted, ranks), "of_folds": [score(y[test], predicted[test], ranks[test]) for _, test in folds]}
    found["seconds"] = prepared + time.process_time() - begun
    print(f"{peer}: {found['metrics']}, {found['seconds']:.0f} s", file=sys.stderr)
    return found


def score(y, predicted, ranks):
    """The metrics of predictions; those of ranks only for two classes, as the peers rank no others."""
    if y.dtype.kind == "f":
        errors = y - predicted
        found = {"rmse": np.sqrt(np.mean(errors**2)), "mae": np.mean(np.abs(errors)), "r2": metrics.r2_score(y, predicted)}
        return {metric: float(value) for metric, value in found.items()}
    found = {"balanced_accuracy": metrics.balanced_accuracy_score(y, predicted), "accuracy": metrics.accuracy_score(y, predicted)}
    if y.max() == 1:
        found |= {"auc": metrics.roc_auc_score(y, ranks), "average_precision": metrics.average_precision_score(y, ranks)}
    return {metric: float(value) for metric, value in found.items()}


def examples(name, seed):
    """What is to be predicted, and the peers as `{name: function of training and test rows}`."""
    source, experiment, target = SETS[name]
    if experiment == "graphs/tu":
        return graph_peers(DATA / source, seed)
    x, y, _, classes = (base_tabular.molecules if target else base_tabular.bags)(name.lower())
    y = y if classes else y.astype(float)
    found = molecule_peers(classes, seed) if target else bag_peers(x.shape[1], seed)
    return y, {peer: (lambda train, test, model=model: plain(model, x, y, train, test)) for peer, model in found.items()}


def plain(model, x, y, train, test):
    """Predictions of a model on the test rows, and what they are ranked by."""
    model.fit(x[train], y[train])
    predicted = model.predict(x[test])
    if y.dtype.kind == "f" or len(np.unique(y)) > 2:
        return predicted, 0
    return predicted, model.predict_proba(x[test])[:, 1] if hasattr(model, "predict_proba") else model.decision_function(x[test])


def bag_peers(width, seed):
    """Peers of pooled columns; weights of classes help where one is rare."""
    inner = StratifiedKFold(INNER, shuffle=True, random_state=seed)
    logistic = LogisticRegressionCV(Cs=np.logspace(-5, 1, 7), cv=inner, scoring="roc_auc", class_weight="balanced", max_iter=500)
    grid = {"svc__C": PENALTIES, "svc__gamma": [0.1 / width, 1 / width, 3 / width]}
    svm = make_pipeline(StandardScaler(), SVC(class_weight="balanced"))
    return {
        "logistic regression": make_pipeline(StandardScaler(), logistic),
        "SVM": GridSearchCV(svm, grid, scoring="roc_auc", cv=inner),
        "random forest": RandomForestClassifier(TREES, random_state=seed),
    }


def molecule_peers(classes, seed):
    """Peers of descriptors and Morgan counts; boosting with few of many columns, or with scikit-learn's defaults."""
    grid = [{"n_estimators": [100]}, {"n_estimators": [500], "learning_rate": [0.03], "colsample_bytree": [0.3]}]
    of = lambda kind: kind(n_jobs=1, verbose=-1, random_state=seed)
    if classes:
        inner = StratifiedKFold(3, shuffle=True, random_state=seed)
        boosting = GridSearchCV(of(LGBMClassifier), grid, scoring="roc_auc", cv=inner)
        return {"random forest": RandomForestClassifier(TREES, random_state=seed), "LightGBM": boosting}
    inner = KFold(3, shuffle=True, random_state=seed)
    boosting = GridSearchCV(of(LGBMRegressor), grid, scoring="neg_mean_squared_error", cv=inner)
    return {"random forest": RandomForestRegressor(TREES, max_features=1 / 3, random_state=seed), "LightGBM": boosting}


def graph_peers(file, seed):
    """Peers of Weisfeiler-Lehman counts: the normalised kernel, whose rounds are chosen within the training part, and a forest."""
    counts, labels = weisfeiler_lehman(file)
    _, y = np.unique(labels, return_inverse=True)
    units = [normalize(hstack(counts[: rounds + 1])) for rounds in range(ROUNDS + 1)]
    kernels = [(unit @ unit.T).toarray() for unit in units]
    columns = hstack(counts[: FOREST_ROUNDS + 1]).tocsr()
    columns = columns[:, np.asarray((columns > 0).sum(0)).ravel() >= 2]
    inner = StratifiedKFold(INNER, shuffle=True, random_state=seed)
    two = y.max() == 1

    def svm(train, test):
        model = SVC(kernel="precomputed", class_weight="balanced")
        search = lambda: GridSearchCV(model, {"C": [*PENALTIES, 1000]}, scoring="roc_auc" if two else "accuracy", cv=inner)
        fitted = [(search().fit(kernel[np.ix_(train, train)], y[train]), kernel) for kernel in kernels]
        best, kernel = max(fitted, key=lambda one: one[0].best_score_)
        rows = kernel[np.ix_(test, train)]
        return best.predict(rows), best.decision_function(rows) if two else 0

    def forest(train, test):
        return plain(RandomForestClassifier(TREES, random_state=seed), columns, y, train, test)

    return y, {"WL kernel SVM": svm, "random forest": forest}


def weisfeiler_lehman(file):
    """Counts of labels for each round, one row a graph, and the classes; the text format of powerful-gnns."""
    words = (line.split() for line in file.read_text().splitlines())
    graphs, classes = [], []
    for _ in range(int(next(words)[0])):
        size, label = next(words)[:2]
        nodes = [next(words) for _ in range(int(size))]
        graphs.append(([node[0] for node in nodes], [list(map(int, node[2 : 2 + int(node[1])])) for node in nodes]))
        classes.append(int(label))
    counts = []
    labels = [labels for labels, _ in graphs]
    for _ in range(ROUNDS + 1):
        numbers = {}
        # Long labels of neighbourhoods become short numbers, the same in every graph.
        labels = [[numbers.setdefault(label, len(numbers)) for label in of_graph] for of_graph in labels]
        places = [(row, column) for row, of_graph in enumerate(labels) for column in of_graph]
        # Entries of the same place are added up.
        counts.append(csr_matrix((np.ones(len(places)), tuple(zip(*places))), shape=(len(graphs), len(numbers))))
        labels = [
            [(label, tuple(sorted(of_graph[other] for other in others))) for label, others in zip(of_graph, edges)]
            for of_graph, (_, edges) in zip(labels, graphs)
        ]
    return counts, classes


if __name__ == "__main__":
    main()
