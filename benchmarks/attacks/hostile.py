"""Hostile words: what is given as names, values, paths, conditions, options and addresses."""

SECRET = "hunter2canary"
NAMES = (
    "a", "A", " a ", "", ".x", "..", "a.b", "a/b", "a\\b", "a'b", 'a"b', "a;DROP TABLE t", "a--", "a b", "a,b",
    "a=b", "é", "日本", "🙂", "\u202eabc", "a\nb", "a\tb", "a\x00b", "%s", "{x}", "[red]x[/red]", "[/]", "<script>",
    "count", "rows", "weight", "f0", "target", "split", "seen", "verdict", "recombine_side", "recombine_key0",
    "recombine_drawn", "select", "NULL", "nan", "constructor", "__proto__", "x" * 3_000, "--help", "-f",
    "leverage", "prediction", "score", "value", "fold", "side", "code0",
)  # fmt: skip
VALUES = (
    "", " ", "v", "V", "(missing)", "nan", "NaN", "None", "NULL", "inf", "-inf", "1e999", "0", "-0", "1", "1.0",
    "true", "'", '"', "\\", "a,b", "a=b", "[bold]x[/]", "[/nope]", "</script><b>", "=1+1", "\u202e", "e\u0301",
    "\u00e9", "🙂", "\x07", "\x1b[31m", "\r", "x" * 4_000, "../x", "$HOME", "`ls`", "%n%s", "{0}", "\ufeff",
    "\u2028",
)  # fmt: skip
PATHS = (
    "nowhere.csv", "", ".", "..", "~", "t.csv/", "*", "**", "t[.csv", "t.csv\x00", "x" * 5_000,
    "x" * 300 + ".csv", "file://t.csv", "file:///nowhere.csv", "file://", "://", "a://b", "t.xlsx", "t", "-", "--",
    "/dev/null", "/dev/stdin", "/proc/self/mem", "\ud800.csv", "null.csv", "empty.csv", "head.csv", "twice.csv",
    "utf16.csv", "binary.parquet", "ragged.csv", "folder", "loop", "*.csv", "{a,b}.csv",
)  # fmt: skip
WHERE = (
    "1=1", "1=0", "a = 'v'", "nonsense", "", " ", ";", "1=1; DROP TABLE t", "1=1 LIMIT 11",
    "1=1 UNION ALL SELECT * FROM 't.parquet'", "1=1 ORDER BY a", "1=1) --", "random() < 0.7", "a IN (SELECT 1)",
    "1=1 -- x", "/*", "'", '"', "a = 'x' GROUP BY a", "a LIKE '%'", "1/0 = 1", "NULL", "a IS NOT NULL", "(1=1",
    "1=1 OR", "b > 5", "exists(select 1)", "1", "'x'", "true", "getenv('HOME') = 'x'",
)  # fmt: skip
WIDENS = ("1=1 LIMIT 11", "1=1 UNION ALL SELECT * FROM 't.parquet'", "1=1 ORDER BY a", "1=1) --", "a = 'x' GROUP BY a")
"""Conditions that are more than a condition: they change what is read, so they may not pass."""
BINS = (
    "n=5", "n=0", "n=-1", "n=1", "n=0,10", "n=10,0", "n=0,0", "n=a,b", "n=quantiles:4", "n=quantiles:0",
    "n=quantiles:x", "n=values", "n=", "=5", "n", "n=nan,1", "n=1,inf", "n=1e400,2e400", "d=month", "d=year",
    "d=hour", "d=weekday", "d=values", "d=5", "c=values", "c=hour", "s=month", "zz=5", "n=٣", "n=5.0", "c=5",
    "u=values", "u=3", "n=month",
)  # fmt: skip
DOMAINS = (
    "a=v,w,x", "a=v", "a=", "=x", "a", "a=v,v", "zz=1,2", "n=1,2,3", "d.json", "null.json", "list.json",
    "number.json", "mixed.json",
    "nested.json", "deep.json", "nowhere.json", "a=" + ",".join(f"x{k}" for k in range(500)), "u=1,2", "s=1",
)  # fmt: skip
OTHERS: dict[str, tuple[str, ...]] = {
    "--missing": ("value", "leave out", "x", ""),
    "--weight": ("n", "a", "zz", "d", "u", "s"),
    "--target": ("y", "n", "a", "d", "zz", "u", "s", "c", "l"),
    "--target-kind": ("label", "number", "x"),
    "--seed": ("0", "1", "-1", "1" * 40, "x", "1.5"),
    "--fail-under": (
        "determined=0.9",
        "seen=1",
        "x=1",
        "determined=nan",
        "determined=2",
        "pairs=0",
        "unseen=0.5",
        "fine=0",
    ),
    "--impossible": (
        "impossible.csv",
        "bom.csv",
        "nowhere.csv",
        "binary.parquet",
        "empty.csv",
        "folder",
        "wide.csv",
        "t.csv",
    ),
}
VERBS: dict[str, dict[str, tuple[str, ...]]] = {
    "audit": {},
    "plan": {
        "--goal": ("determined", "pairs", "triples", "leverage", "variance", "x"),
        "--budget": ("3", "0", "-1", "nan", "inf", "1e308", "x", "0.5"),
        "--cost": ("cost.csv", "huge.csv", "nowhere.csv", "t.csv", "negative.csv", "empty.csv"),
    },
    "predict": {
        "--salience": ("relu:3", "relu:0", "relu:-1", "relu:1000000", "order:0,1", "order:", "order:nan",
        "order:1e308,1e308,1e308",
                       "fit", "x:1", "nowhere.parquet", "t.csv", "order:0,0.5,0", "erf:2"),
        "--loss": ("squared", "margin", "x"),
        "--ridge": ("0", "1", "-1", "nan", "inf", "1e308", "1e-320"),
        "--truth": ("y", "t.csv", "zz", "nowhere.csv"),
        "--backtest": ("",),
    },
    "split": {
        "--by": ("combinations", "conjunctions", "kfold", "donut", "corner", "diagonal", "planes", "divergence", "x"),
        "--share": ("0.2", "0", "1", "-1", "nan", "inf", "1e-300"),
        "--guarantee": ("values", "determined", "none", "x"),
        "--hold": ("a=v", "3", "0", "-1", "a=v,b=w", "zz=1", "a", "=", "99999999999"),
        "--folds": ("2", "1", "0", "-1", "1000000"),
        "--order": ("1", "2", "0", "-1", "99"),
        "--hole": ("1,2", "n=1,5", "x", "5,1", "nan,1"),
        "--at": ("1", "n=2", "x", "nan"),
        "--width": ("0.2", "0", "nan", "-1"),
        "--through": ("a=v,b=w", "a=v", "x"),
        "--seen-share": ("0.1", "1", "-1", "nan"),
        "--column": ("split", "a", "", "x y", "A", "recombine_key0", ".x", "a/b", "é"),
        "--id": ("n", "zz", "a", "l"),
        "--strata": ("y", "n", "zz"),
    },
    "lint": {
        "--split": ("split", "a", "zz", "n", "d"),
        "--expect": ("combinations", "rows", "conjunctions", "values", "x"),
        "--order": ("2", "0", "-1", "99"),
        "--cold": ("a", "zz", "a,b"),
        "--id": ("n", "zz", "l"),
        "--class-tolerance": ("0.1", "-1", "nan", "inf"),
        "--train-side": ("train", "x", ""),
        "--against": ("t.csv", "nowhere.csv"),
    },
    "evaluate": {
        "--prediction": ("p", "a", "zz", "n", "v=n,w=n", "u", "d"),
        "--split": ("split", "zz", "a"),
        "--score": ("accuracy", "mse", "r2", "logloss", "n", "zz", "u"),
        "--draws": ("100", "0", "-1", "x"),
        "--confidence": ("0.95", "0", "1", "nan"),
        "--against": ("p", "t.csv", "zz"),
        "--theory": ("nowhere", "folder", "t.csv"),
    },
}  # fmt: skip
LISTED: tuple[tuple[str, bool | None], ...] = (
    ("audit|twice.csv|-f|a,b", True),
    ("audit|t.parquet|-f|a,b|--where|1=1 LIMIT 11", True),
    ("audit|t.parquet|-f|a,b|--where|1=1 UNION ALL SELECT * FROM 't.parquet'", True),
    ("audit|t.parquet|-f|a,b|--where|1=1 ORDER BY a", True),
    ("audit|t.parquet|-f|a,b|--where|a = 'v' OR a <> 'v' -- x", None),
    ("split|t.parquet|-f|a,b|--where|random() < 0.7|--out|o.csv|--column|side", True),
    (
        "audit|t.parquet|-f|a,b|--impossible|bom.csv",
        True,
    ),  # x and v were seen together: the table says so, not the mark
    ("audit|t.csv|-f|a,b|--domain|a=v,w,x|--impossible|bom.csv", False),
    ("audit|t.parquet|-f|a,c|--bins|c=values|--out|saved|--report|page.html|--json", None),
    ("audit|t.parquet|-f|a,s|--bins|s=values|--out|saved|--report|page.html|--json", None),
    ("audit|t.parquet|-f|a,d|--bins|d=values|--out|saved|--report|page.html|--json", None),
    ("audit|t.parquet|-f|a,u|--out|saved|--report|page.html|--json", None),
    ("audit|t.parquet|-f|a,b|-t|u|--out|saved|--json", None),
    ("predict|t.parquet|-f|a,b|-t|u|--out|saved|--json", None),
    ("predict|t.parquet|-f|a,c|--bins|c=values|-t|y|--out|saved|--json", None),
    ("plan|t.parquet|-f|a,c|--bins|c=values|--out|saved|--json", None),
    ("split|t.parquet|-f|a,u|--out|o.csv|--column|side", None),
    ("split|t.parquet|-f|a,c|--bins|c=values|--guarantee|none|--out|o.csv|--column|side", None),
    ("lint|t.parquet|-f|a,u", None),
    ("evaluate|t.parquet|-f|a,b|-t|u|-p|n|--target-kind|number|--no-causes|--out|saved", None),
    ("evaluate|t.parquet|-f|a,u|-t|y|-p|p|--split|split|--no-causes|--out|saved|--json", None),
    ("split|dot.parquet|-f|.x,b|--out|o.csv", None),
    ("split|dot.parquet|-f|.x,b|--out|o", None),
    ("audit|LONG|-f|a,b", True),
    ("audit|LONG.csv|-f|a,b", True),
    ("audit|t.csv|-f|a,b|--out|LONG", True),
    ("split|t.parquet|-f|a,b|--out|LONG.csv|--column|side", True),
    ("predict|t.csv|-f|a,b|-t|y|--truth|LONG.csv", True),
    ("plan|t.parquet|-f|a,b|--cost|huge.csv", None),
    ("plan|t.parquet|-f|a,b|--domain|a=v,w,x,z,q,r|--cost|huge.csv|--out|saved|--json", None),
    ("plan|t.parquet|-f|a,b|--domain|a=v,w,x,z,q,r|--goal|leverage|--budget|1.7e308|--cost|huge.csv|--json", None),
    ("audit|t.parquet|-f|a,b|--domain|null.json|--out|saved|--json", None),
    ("audit|t.parquet|-f|a,b|--domain|mixed.json", None),
    ("audit|t.parquet|-f|a,b|--domain|nested.json", None),
    ("audit|t.parquet|-f|a,b|--domain|number.json", None),
    ("audit|t.parquet|-f|a,b|--domain|deep.json", True),
    ("evaluate|t.parquet|-f|a,b|-t|y|-p|p|--where|1=0", True),
    ("predict|t.parquet|-f|a,b|-t|y|--where|1=0", True),
    ("split|t.parquet|-f|a,b|--where|1=0|--out|o.csv|--column|side", True),
    ("lint|t.parquet|-f|a,b|--where|1=0", None),
)
"""Words between strokes, and whether they must be refused; None where only a traceback would be wrong."""
SECRETS = (
    "postgresql://me:{0}@127.0.0.1:1/db", "postgresql://me@127.0.0.1:1/db?password={0}",
    "postgresql://me@127.0.0.1:1/db?a=b&sslpassword={0}", "mysql://me:{0}@127.0.0.1:1/db",
    "https://user:{0}@127.0.0.1:1/t.csv", "https://127.0.0.1:1/t.csv?token={0}",
    "https://127.0.0.1:1/t.csv?X-Amz-Signature={0}&x=1", "s3://key:{0}@bucket/t.parquet",
    "snowflake://u:{0}@acc/db", "x://u:{0}@h/d", "postgresql://me:{0}%40more@127.0.0.1:1/db",
    "postgresql://:{0}@127.0.0.1:1/db", "duckdb:///nowhere.duckdb?token={0}",
    "postgresql://me@127.0.0.1:1/db?PassWord={0}", "http://u:a@b:{0}@127.0.0.1:1/t.csv", "az://c/t.csv?secret={0}",
    "gs://b/t.csv?key={0}",
)  # fmt: skip
