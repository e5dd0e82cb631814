// Package architecture holds no code: its test keeps the arrows between the
// packages pointing the way they must.
package architecture
