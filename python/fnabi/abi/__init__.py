"""The texts of function ABIs: raw, SIP, ``iree.abi``, calling conventions and declarations."""
