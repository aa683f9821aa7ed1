// Command mcptap records MCP traffic byte for byte, explains it and serves it back.
package main

func main() {}
