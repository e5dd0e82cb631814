// Package inorder works on what people do: what one person does in order, different
// people side by side, with a bound on both. A queue keeps nothing that outlives the
// process; the platforms tell a person whose press was lost, or bring it again.
package inorder
