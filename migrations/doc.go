// Package migrations holds the schema of each store as numbered steps that goose
// applies: the same number and the same name on every database, one folder each.
//
// A step that was released is never edited; the next one changes it. The package
// embeds the files and does nothing else.
package migrations
