#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The figures of bench.sh as a table, as JSON and as a chart.

usage: report.py [--markdown] --out DIR --base VERSION --parts "PART..." OURS STOCK PATCHED

OURS, STOCK and PATCHED are files of "name value" lines; PATCHED is stock with our
patches to ftrace, tracing and perf, for what goes through these. A figure that one of
them does not have is shown as "-". The exit status is 1 if ours breaks one of its rules.
"""
import argparse
import datetime
import html
import json
import os
import sys

MEMORY_KINDS = [
    ("breakpoint", "breakpoint"),
    ("jump", "point that may be a jump"),
    ("ftrace", "point on an ftrace site"),
    ("return", "return probe on an ftrace site"),
]
MEMORY_SIZES = {
    "breakpoint": [("1000", "1,000"), ("most", "50,000")],
    "jump": [("1000", "1,000"), ("most", "50,000")],
    "ftrace": [("1000", "1,000"), ("most", "all functions")],
    "return": [("1000", "1,000"), ("most", "all functions")],
}

# Title, unit, part of bench.sh, rows of (name, label). A value after "/N "
# is divided by N.
GROUPS = [
    ("One hit", "instructions", "icount", [
        ("bp_pre", "breakpoint, on an instruction that stock steps"),
        ("bp_branch_pre", "breakpoint, on a branch, which stock emulates"),
        ("bp_pre_post", "breakpoint, with post-handler"),
        ("jump_pre", "jump"),
        ("jump_pre_post", "jump, with post-handler"),
        ("ftrace_pre", "ftrace site"),
        ("ftrace_pre_post", "ftrace site, with post-handler"),
        ("bp_return", "return probe, by breakpoint"),
        ("jump_return", "return probe, by jump"),
        ("ftrace_return", "return probe, by ftrace site"),
    ]),
    ("One breakpoint hit beside other points", "instructions", "icount", [
        ("bp_pre_among_1", "1 other"),
        ("bp_pre_among_100", "100 others"),
        ("bp_pre_among_10000", "10,000 others"),
        ("bp_pre_among_50000", "50,000 others"),
    ]),
    ("Work for each probe set", "instructions", "icount", [
        ("register_single_100", "alone, 100 others set"),
        ("register_single_1000", "alone, 1,000 others set"),
        ("register_single_10000", "alone, 10,000 others set"),
        ("register_batch_100", "in a batch of 100"),
        ("register_batch_1000", "in a batch of 1,000"),
        ("register_batch_10000", "in a batch of 10,000"),
    ]),
    ("Work for each probe removed", "instructions", "icount", [
        ("unregister_single_100", "alone, 100 others set"),
        ("unregister_single_1000", "alone, 1,000 others set"),
        ("unregister_single_10000", "alone, 10,000 others set"),
        ("unregister_batch_100", "in a batch of 100"),
        ("unregister_batch_1000", "in a batch of 1,000"),
        ("unregister_batch_10000", "in a batch of 10,000"),
    ]),
    ("Work for each point that becomes a jump", "instructions", "icount", [
        ("settle_1000", "in a batch of 1,000"),
        ("settle_10000", "in a batch of 10,000"),
    ]),
    ("A batch of 10,000, 2 CPUs", "", "crowd", [
        ("jumps", "that become jumps"),
        ("/1000000000 jumps_wall", "seconds until all that can be jumps are"),
    ]),
    ("Time for each probe set, 2 CPUs", "us", "crowd", [
        ("/1000 wall_register_single_100", "one by one, 100"),
        ("/1000 wall_register_single_1000", "one by one, 1,000"),
        ("/1000 wall_register_single_10000", "one by one, 10,000"),
        ("/1000 wall_register_batch_100", "batch of 100"),
        ("/1000 wall_register_batch_1000", "batch of 1,000"),
        ("/1000 wall_register_batch_10000", "batch of 10,000"),
    ]),
    ("Time for each probe removed, 2 CPUs", "us", "crowd", [
        ("/1000 wall_unregister_single_100", "one by one, 100"),
        ("/1000 wall_unregister_single_1000", "one by one, 1,000"),
        ("/1000 wall_unregister_single_10000", "one by one, 10,000"),
        ("/1000 wall_unregister_batch_100", "batch of 100"),
        ("/1000 wall_unregister_batch_1000", "batch of 1,000"),
        ("/1000 wall_unregister_batch_10000", "batch of 10,000"),
    ]),
    ("A batch of 1,000, 2 CPUs", "", "crowd", [
        ("calls_register", "interrupts of other CPUs to set it"),
        ("calls_settle", "interrupts until all that can be jumps are"),
        ("calls_unregister", "interrupts to remove it"),
        ("grace_register", "grace periods that pass while it is set"),
        ("grace_unregister", "grace periods that pass while it is removed"),
        ("grace_unregister_single", "the same while 100 are removed one by one"),
    ]),
    ("1,000 tracefs events at function entries", "s", "events", [
        ("/1000 events_entry_create", "created"),
        ("/1000 events_entry_enable", "enabled, all at once"),
        ("/1000 events_entry_disable", "disabled, all at once"),
        ("/1000 events_entry_remove", "removed, all at once"),
        ("/1000 events_entry_enable_each", "enabled one by one"),
        ("/1000 events_entry_disable_each", "disabled one by one"),
        ("/1000 events_entry_remove_each", "removed one by one"),
    ]),
    ("1,000 tracefs events inside functions", "s", "events", [
        ("/1000 events_inner_create", "created"),
        ("/1000 events_inner_enable", "enabled, all at once"),
        ("/1000 events_inner_disable", "disabled, all at once"),
        ("/1000 events_inner_remove", "removed, all at once"),
        ("/1000 events_inner_enable_each", "enabled one by one"),
        ("/1000 events_inner_disable_each", "disabled one by one"),
        ("/1000 events_inner_remove_each", "removed one by one"),
    ]),
    ("1,000 kprobes of perf_event_open()", "s", "events", [
        ("/1000 perf_entry_open", "at function entries, attached"),
        ("/1000 perf_entry_close", "at function entries, closed"),
        ("/1000 perf_inner_open", "inside functions, attached"),
        ("/1000 perf_inner_close", "inside functions, closed"),
    ]),
    ("Instructions of vmlinux that end as a jump", "%", "coverage", [
        ("coverage", "of 6,000 random ones, ftrace sites left out"),
    ]),
    *[(f"Memory for each {what}, {many} set", "bytes", "memory", [
        (f"memory_{kind}_{tag}_set", "(number that could be set in time)"),
        (f"memory_{kind}_{tag}_slab", "slab"),
        (f"memory_{kind}_{tag}_text", "text and other vmalloc"),
        (f"memory_{kind}_{tag}_percpu", "per CPU"),
    ]) for kind, what in MEMORY_KINDS for tag, many in MEMORY_SIZES[kind]],
    ("Time for each probe on an ftrace site, set one by one", "us", "memory", [
        ("memory_ftrace_1000_us", "1,000"),
        ("memory_ftrace_most_us", "all functions"),
        ("memory_return_1000_us", "1,000 return probes"),
        ("memory_return_most_us", "return probes on all functions"),
    ]),
    ("8 CPUs at once, one point: cache lines that several write", "", "cpus", [
        ("breakpoint_one_shared", "breakpoint"),
        ("jump_one_shared", "jump"),
        ("ftrace_one_shared", "ftrace site"),
        ("return_one_shared", "return probe"),
    ]),
    ("8 CPUs at once, distinct points: cache lines that several write", "", "cpus", [
        ("breakpoint_distinct_shared", "breakpoint"),
        ("jump_distinct_shared", "jump"),
        ("ftrace_distinct_shared", "ftrace site"),
        ("return_distinct_shared", "return probe"),
    ]),
    ("8 CPUs at once: of 640,000 hits", "", "cpus", [
        ("lost", "hits lost"),
        ("unequal", "CPUs whose hits are not their calls"),
    ]),
]

STATES = [f"{kind}_{which}" for kind in ("breakpoint", "jump", "ftrace", "return")
          for which in ("one", "distinct")]


def read(path):
    values, details = {}, []
    for line in open(path):
        words = line.split()
        if words and words[0] == "by":
            details.append(line.strip())
        elif len(words) == 2:
            try:
                values[words[0]] = float(words[1])
            except ValueError:
                pass
    if all(f"{s}_hits" in values for s in STATES):
        values["lost"] = sum(values[f"{s}_calls"] - values[f"{s}_hits"] for s in STATES)
        values["unequal"] = sum(values[f"{s}_unequal"] for s in STATES)
    return values, details


def rules(ours, parts, groups):
    """What must be so, whatever the figures are."""
    broken = [f"{title}: {label}: no figure of ours" for title, _, rows in groups
              for _, label, _, _, value in rows if value is None]
    if "cpus" not in parts.split():
        return broken
    # The control: the plugin must report a line that is shared.
    if not ours.get("control_one_shared"):
        broken.append("the control shares no cache line: nothing was watched")
    for state in STATES:
        if ours.get(f"{state}_shared") != 0:
            broken.append(f"{state}: CPUs that hit it write to the same cache lines")
        if ours.get(f"{state}_unequal") != 0 or not ours.get(f"{state}_hits"):
            broken.append(f"{state}: hits are not calls")
    return broken


def figure(value):
    if value is None:
        return "-"
    if value == int(value) or value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def ratio(stock, ours):
    if not stock or not ours or ours < 0:
        return "-"
    value = stock / ours
    return f"{value:,.0f}" if value >= 10 else f"{value:.2f}" if value >= 0.01 else f"{value:.2g}"


def collect(ours, stock, patched, parts):
    groups = []
    for title, unit, part, rows in GROUPS:
        if part not in parts.split():
            continue
        out = []
        for name, label in rows:
            by = 1
            if name.startswith("/"):
                by, name = name[1:].split()
                by = int(by)
            out.append((name, label, *(v.get(name) / by if name in v else None
                                       for v in (stock, patched, ours))))
        groups.append((title, unit, out))
    return groups


def heading(title, unit):
    return f"{title} ({unit})" if unit else title


def text_table(groups):
    for title, unit, rows in groups:
        print(f"\n{heading(title, unit):<50} {'stock':>11} {'patched':>11} {'ours':>11} {'stock/ours':>11}")
        for _, label, stock, patched, ours in rows:
            print(f"  {label:<48} {figure(stock):>11} {figure(patched):>11} {figure(ours):>11} "
                  f"{ratio(stock, ours):>11}")


def markdown_table(groups):
    """A group that was not measured on the patched one has no column for it."""
    print("| | stock | stock, patched | ours | stock / ours |\n| --- | ---: | ---: | ---: | ---: |")
    for title, unit, rows in groups:
        third = any(row[3] is not None for row in rows)
        print(f"| **{heading(title, unit)}** | | | | |")
        for _, label, stock, patched, ours in rows:
            print(f"| {label} | {figure(stock)} | {figure(patched) if third else ''} | {figure(ours)} "
                  f"| {ratio(stock, ours)} |")


STYLE = """
.bg { fill: #ffffff; stroke: #d0d7de } text { font: 12px sans-serif; fill: #1f2328 }
.s { font-size: 11px } .t { font-size: 17px; font-weight: bold } .g { font-weight: bold } .s { fill: #59636e }
.stock { fill: #a2abb5 } .ours { fill: #0969da } .grid { stroke: #e3e7eb }
@media (prefers-color-scheme: dark) {
.bg { fill: #0d1117; stroke: #3d444d } text { fill: #f0f6fc } .s { fill: #9198a1 }
.stock { fill: #6e7681 } .ours { fill: #4493f8 } .grid { stroke: #21262d } }
"""

# What the chart shows: a hit, from zero on a linear scale, and by which factor the rest
# is less than on stock, as numbers: a bar for "600 times" would say nothing beside one
# for "twice".
CHART_HITS = ["One hit", "One breakpoint hit beside other points"]
CHART_RATIOS = [
    ("register_batch_1000", "work to set a probe, in a batch of 1,000"),
    ("unregister_batch_1000", "work to remove it"),
    ("settle_10000", "work to make it a jump"),
    ("jumps_wall", "time until 10,000 are jumps"),
    ("events_inner_enable", "1,000 tracefs events inside functions: enabled"),
    ("events_inner_remove", "removed"),
    ("events_entry_enable", "1,000 tracefs events at entries: enabled"),
    ("events_entry_remove", "removed"),
    ("perf_inner_open", "1,000 kprobes of perf: attached"),
    ("perf_inner_close", "closed"),
    ("memory_breakpoint_most_slab", "slab of a breakpoint, of 50,000"),
    ("memory_jump_most_text", "text of a jump, of 50,000"),
]


def times(stock, value):
    if not stock or not value:
        return "-"
    if stock >= value:
        return f"{stock / value:,.0f} times less" if stock >= 10 * value else f"{stock / value:.1f} times less"
    return f"{value / stock:.1f} times more"


def chart(groups, stock, patched, ours, title, subtitle):
    left, bars, right, bar, gap = 330, 420, 120, 11, 8
    width = left + bars + right
    y, body = 96, []

    def text(x, y, words, cls="", anchor="start"):
        body.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{cls}" text-anchor="{anchor}">'
                    f'{html.escape(words)}</text>')

    for name, unit, rows in groups:
        values = [v for row in rows for v in (row[2], row[4]) if v]
        if name not in CHART_HITS or not values:
            continue
        high = max(values)
        step = next(s for s in (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1 << 40) if high / s <= 8)
        text(20, y, heading(name, unit), "g")
        top = y + 10
        height = len(rows) * (2 * bar + gap)
        for tick in range(0, int(high) + 1, step):
            x = left + bars * tick / high
            body.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{top + height}"/>')
            text(x, top + height + 13, f"{tick:,}", "s", "middle")
        y = top + 4
        for _, label, was, _, now in rows:
            text(left - 8, y + bar + 4, label, "", "end")
            for kind, value in (("stock", was), ("ours", now)):
                length = bars * value / high if value else 0
                body.append(f'<rect class="{kind}" x="{left}" y="{y}" width="{length:.1f}" height="{bar}"/>')
                text(left + length + 5, y + bar - 1.5, figure(value), "s")
                y += bar
            y += gap
        y += 40
    shown = [(n, l) for n, l in CHART_RATIOS if n in stock and n in ours]
    if shown:
        text(20, y, "The rest, beside stock", "g")
        text(left + 130, y, "ours", "s", "end")
        text(left + 340, y, "stock with our patches to the tree", "s", "end")
        for name, label in shown:
            y += 20
            text(left - 8, y, label, "", "end")
            text(left + 130, y, times(stock[name], ours[name]), "", "end")
            if name in patched:
                text(left + 340, y, times(stock[name], patched[name]), "", "end")
        y += 24
    text(20, 32, title, "t")
    text(20, 52, subtitle, "s")
    for x, kind in ((20, "stock"), (90, "ours")):
        body.append(f'<rect class="{kind}" x="{x}" y="62" width="12" height="10"/>')
        text(x + 17, 71, kind)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y:.0f}" '
            f'viewBox="0 0 {width} {y:.0f}">\n<style>{STYLE}</style>\n'
            f'<rect class="bg" x="0.5" y="0.5" width="{width - 1}" height="{y - 1:.0f}" rx="6"/>\n'
            + "\n".join(body) + "\n</svg>\n")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--markdown", action="store_true")
    args.add_argument("--out", required=True)
    args.add_argument("--base", required=True)
    args.add_argument("--parts", required=True)
    args.add_argument("ours")
    args.add_argument("stock")
    args.add_argument("patched")
    args = args.parse_args()

    ours, ours_by = read(args.ours)
    stock, stock_by = read(args.stock)
    patched, _ = read(args.patched)
    groups = collect(ours, stock, patched, args.parts)
    date = datetime.date.today().isoformat()
    subtitle = f"{args.base}, {date}, in guests of QEMU's emulation."

    result = {
        "base": args.base, "date": date,
        "groups": [{"title": t, "unit": u,
                    "rows": [{"name": n, "label": l, "stock": s, "patched": p, "ours": o,
                              "ratio": s / o if s and o else None} for n, l, s, p, o in rows]}
                   for t, u, rows in groups],
        "raw": {"ours": ours, "stock": stock, "patched": patched},
        "shared_lines": {"ours": ours_by, "stock": stock_by},
    }
    with open(os.path.join(args.out, "results.json"), "w") as f:
        json.dump(result, f, indent=1)
        f.write("\n")
    with open(os.path.join(args.out, "bench.svg"), "w") as f:
        f.write(chart(groups, stock, patched, ours, "Kprobes: stock and ours", subtitle))

    print(f"{args.base}, {date}")
    if args.markdown:
        print()
        markdown_table(groups)
        print("\n`-`: not measured, because it cannot be done or did not finish in time; in the last column: no ratio.")
    else:
        text_table(groups)
    # With KERNEL=stock-NAME, only others are measured.
    alone = os.path.basename(args.ours).startswith("stock-")
    broken = [] if alone else rules(ours, args.parts, groups)
    for line in broken:
        print(f"broken: {line}", file=sys.stderr)
    for line in ours_by:
        if not line.startswith("by control"):
            print(f"shared: {line}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
