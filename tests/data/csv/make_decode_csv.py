"""Writes decode_csv.txt: what TensorFlow's tf.io.decode_csv makes of small records.

    python make_decode_csv.py        # with tensorflow installed; the file was written by 2.21

One case a line, parts separated by tabs, bytes outside of printable ASCII and backslashes as \\xNN:

    record  columns  delimiter  quotes  na_value  select_cols  outcome...

columns: one letter each, f float32, d float64, i int32, l int64, s string; upper case is required,
lower case has the default of DEFAULTS. The outcome is "ok" and the values, floats as the hexadecimal of
their bits, or "error", its kind, and the field's number if the message has one.
"""
import os
import pathlib
import random
import re
import struct

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

TYPES = {"f": tf.float32, "d": tf.float64, "i": tf.int32, "l": tf.int64, "s": tf.string}
DEFAULTS = {"f": -1.5, "d": 2.5, "i": 7, "l": -8, "s": "none"}
KINDS = {
    "Expect": "count",
    "is required but missing": "missing",
    "is not a valid": "invalid",
    "Unquoted fields cannot": "quote_inside",
    "Quote inside a string": "quote_not_escaped",
    "Quoted field has to end": "quote_not_closed",
}


def escaped(data):
    return "".join(chr(b) if 0x20 <= b < 0x7F and b != 0x5C else f"\\x{b:02x}" for b in data)


def shown(value, column):
    if column in "fd":
        if value != value:
            return "nan"
        return struct.pack(">f" if column == "f" else ">d", value).hex()
    return escaped(value) if column == "s" else str(int(value))


def outcome(record, columns, delimiter, quotes, na, select):
    defaults = [tf.constant([] if c.isupper() else [DEFAULTS[c]], TYPES[c.lower()]) for c in columns]
    try:
        found = tf.io.decode_csv([record], defaults, delimiter, quotes, na, select or None)
    except tf.errors.InvalidArgumentError as error:
        kind = next(kind for words, kind in KINDS.items() if words in error.message)
        field = re.search(r"Field (\d+) (in record|is required)", error.message)
        return ["error", kind] + ([field[1]] if field else [])
    return ["ok"] + [shown(t.numpy()[0], c.lower()) for t, c in zip(found, columns)]


NUMBERS = """
0 -0 7 +7 -7 --7 +-7 -+7 007 1_0 1e3 1E3 1e+3 1e-3 1e 1e+ 1.5 1. .5 . -.5 -. 1..2 1.2.3 0x10 0X1F -0x10 +0x10 0x 0xg
0x1.8 0x1.8p1 0x.8 0x1p 0x1p- 0x1p99999 0x1p-99999 inf INF -inf +inf Infinity -INFINITY infi nan NaN -nan nan(1) nan() nan(
NA N/A null None true 1f 1.5f 1,5 2147483647 2147483648 -2147483648 -2147483649 9223372036854775807 9223372036854775808
-9223372036854775808 -9223372036854775809 18446744073709551616 123456789012345 1234567890123456 12345678901234567
0.1 0.3 3.14159265358979 2.718281828459045 16777217 16777219 33554433.0 9007199254740993 1e22 1e23 1e38 3.4028235e38
3.4028236e38 1e39 1e308 1e309 1e400 -1e400 1e-45 1e-46 1.17549435e-38 1e-320 1e-400 4.9e-324 8.589973e9 0.000001 123456.789012
1e99999999999 1e-99999999999 0e99999999999 0.00000000000000000000000001 1111111111111111111111111111111
11111111111111111111111111111111 0.30000000000000000000000000000001192092895507812500000000
""".split() + [" 7", "7 ", " 7 ", "\t7", "7\t", "\v7\f", "  ", "\t", "7 8", "- 7", " 1.5 ", "1. 5", "1e 5", "\u0661", "1\0", "\0"]

# From semantics of the op: one record each.
RECORDS = [
    ("", "S"), ("", "s"), ("a,b,", "sss"), ("a,b,", "ss"), (",", "ss"), (",", "SS"), (",,", "sss"),
    ('"a,b",c', "SS"), ('"a""b",c', "SS"), ('"a"b,c', "SS"), ('a"b,c', "SS"), ('"a', "S"), ('""', "s"), ('""', "S"),
    ('"', "S"), ('"""', "S"), ('""""', "S"), ('"""",""""""', "SS"), ('"a"', "S"), ('"a" ,b', "SS"), (' "a",b', "SS"),
    ("1,2\r", "II"), ("1,2\n", "II"), ("\n1,2", "II"), ("1,\n2", "II"), ("1,\r\n2", "II"), ("a,\n", "ss"), ("a,\n", "s"),
    ('"a"\n', "S"), ('"a"\r', "S"), ('"a\nb",c', "SS"), ('"a\r\nb"', "S"), ("a\nb", "S"), ("\n", "s"), ("\n\n,", "ss"),
    ('\n"a"', "S"), ('a,"', "SS"), ('a,"b', "SS"), ('a,"b"c', "SS"), ('a,"b""', "SS"), ('a,""b"', "SS"), ('"a,b', "SS"),
    ('"1","2"', "IF"), ('" 1 ",2', "IF"), ("a,b,c", "SS"), ("a", "SS"), ("1,x,y", "III"), ("x,1", "II"), ("1,", "II"),
    ("1,", "Ii"), (" ,1", "Ss"), (" , ", "ss"), ("a,b,c\"", "SSS"), ('a,b\n', "SSS"), ('"a"b', "SS"),
]


def cases():
    for record, columns in RECORDS:
        yield record, columns, ",", True, "", []
    for record in ('a"b,c', '"a",b', 'a,b"', '"', 'a\n,b', '"a,b"', "\ra,b", '""'):
        yield record, "ss", ",", False, "", []
    for record in ("a b  c", "a b ", " a", "  ", 'a "b c" d', "a\tb"):
        for columns in ("sss", "ssss"):
            yield record, columns, " ", True, "", []
    yield "a\tb c\t", "sss", "\t", True, "", []
    yield "a;b,c", "ss", ";", True, "", []
    for record in ("a,b", "a,b,c", "a,b,", 'a,"bad"x,c', 'a"x,b,c', "a,b,c,d", "", ",,", "a,b,\"c", 'a,b,c"', "a,b,c,\"\"\""):
        for columns, select in (("ss", [0, 2]), ("s", [0]), ("S", [2]), ("Ss", [1, 2]), ("s", [3])):
            yield record, columns, ",", True, "", select
    for number in NUMBERS:
        for column in "FDIL":
            yield number.replace(",", ";"), column, ",", True, "", []
    for field in ("NA", "", "N", " NA", "NA ", '"NA"', '""', "na"):
        for columns in ("fF", "iI", "sS", "FF", "SS", "lL", "dD"):
            yield field + ",1", columns, ",", True, "NA", []
    yield "-999,1", "fF", ",", True, "-999", []
    yield "-999,-999.0", "ff", ",", True, "-999", []
    yield "7,-1", "il", ",", True, "7", []

    draw = random.Random(1)
    atoms = ['"', '"', '""', ",", ",", "a", "b c", "1", "-2.5", "\n", "\r", " ", "NA", '"x"', '"x,y"', '"p""q"', "\xe9"]
    for _ in range(900):
        record = "".join(draw.choices(atoms, k=draw.randint(0, 9)))
        columns = "".join(draw.choices("ssssSSfFildDIL", k=draw.choice((1, 2, 2, 3, 4))))
        select = sorted(draw.sample(range(5), len(columns))) if draw.random() < 0.25 else []
        yield record, columns, ",", draw.random() < 0.8, draw.choice(("", "NA")), select
    fields = ["1", "2", "-3", "4.5", "abc", "", "NA", '"q"', '"q,r"', '"s""t"', '"l\nm"', " 6 ", "x y", "7e2"]
    for _ in range(300):
        record = ",".join(draw.choices(fields, k=draw.randint(1, 4)))
        yield record, "".join(draw.choices("ssSffFild", k=record.count(",") + 1)), ",", True, "NA", []


def main():
    lines = []
    for record, columns, delimiter, quotes, na, select in cases():
        record = record.encode()
        parts = [escaped(record), columns, escaped(delimiter.encode()), str(int(quotes)), escaped(na.encode()),
                 ":".join(map(str, select))]
        lines.append("\t".join(parts + outcome(record, columns, delimiter, quotes, na, select)))
    lines = list(dict.fromkeys(lines))
    pathlib.Path(__file__).with_name("decode_csv.txt").write_text("\n".join(lines) + "\n")
    print(len(lines), "cases")


if __name__ == "__main__":
    main()
