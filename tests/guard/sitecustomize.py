"""Python runs this before anything else when this folder is on its path."""

import network_guard

network_guard.install()
