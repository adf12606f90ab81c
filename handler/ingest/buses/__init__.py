"""Message buses of clouds: what their events are about, and the listening for them."""
