package storetest

import "testing"

// RunModel placeholder.
func RunModel(t *testing.T, open Factory) { t.Helper(); _ = open }
