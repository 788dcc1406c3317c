"""The attacks behind `benchmarks/siege.py`: a file for each family, and what they share.

| file | holds |
|---|---|
| `case` | one case: its chance, its scratch folder, the faults that it found |
| `families` | every family by its name, and its share of the cases |
| `crew` | the workers that run cases, and survive what a case does to them |
| `command` | a command run in this process, as its user would see it end |
| `children` | a command run in a process of its own, forked from one that has everything loaded |
| `drawn`, `twin` | tables drawn at random, and what is true of them, in plain arithmetic |
| `hostile` | names, values, paths, conditions, options and addresses that nobody means well with |
| `tampering` | edits of JSON and files, with and without a checksum that fits |
| `tables` … `limits` | the families |
"""
