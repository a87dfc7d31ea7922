"""The only file of the package that imports pytest: what the public conformance suites need of it."""

from __future__ import annotations

import pytest

fixture = pytest.fixture
raises = pytest.raises
parametrize = pytest.mark.parametrize
MonkeyPatch = pytest.MonkeyPatch
