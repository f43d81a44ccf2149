"""What a line once stated of its intervals, which later versions may only widen."""
