"""Which row leaves first: one module for each way to keep rows in order.

Each has its own arrays, the steps that the compiled loop takes (enter, leave, matched, first to
go, yields), and a class for what happens between two calls of the loop (grow, apply a decision,
save, restore). `table` has the classes, `dispatch` the compiled steps; `prefetch`, `room`,
`row_windows` and `shrinking` have those that one or two of them take in their own way.
"""
