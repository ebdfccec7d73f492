"""The tape: columns of instructions, slots and buffers."""
