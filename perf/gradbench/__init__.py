"""A tool of GradBench made of this library, its rivals there, and what lets an eval and a tool talk."""
