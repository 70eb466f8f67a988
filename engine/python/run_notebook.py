"""Runs the cells of a notebook and puts their outputs into it: run_notebook.py NOTEBOOK [COPY]."""

import ast
import contextlib
import io
import json
import sys


def run(cell, names, number):
    """Run a cell of code; its outputs are what it prints, and the value of its last line."""
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names) if last else None
    cell["execution_count"] = number
    cell["outputs"] = []
    if printed.getvalue():
        cell["outputs"].append({"output_type": "stream", "name": "stdout",
                                "text": printed.getvalue().splitlines(keepends=True)})
    if value is not None:
        cell["outputs"].append({"output_type": "execute_result", "execution_count": number, "metadata": {},
                                "data": {"text/plain": repr(value).splitlines(keepends=True)}})


def main(path, copy):
    """Run the notebook `path` and write it with its outputs to `copy`; the names that it leaves."""
    with open(path) as file:
        notebook = json.load(file)
    names, number = {}, 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            run(cell, names, number)
    with open(copy, "w") as file:
        file.write(json.dumps(notebook, indent=1) + "\n")
    return names


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else sys.argv[1])
