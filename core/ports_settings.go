package core

// AgentHint is what a hint says in place of an approval's id when the settings or the
// rules of an agent changed. No approval has such an id: a UUID holds no slash, and a
// given id none before its colon.
func AgentHint(runtime, agent string) string { return "agent/" + runtime + "/" + agent }
