"""Public helpers for tests: clocks, strategies and conformance suites."""
