#!/usr/bin/env node
import '@tenure/core/supported-node'
import { OutputClosed, processTerminal } from './process-terminal.ts'
import { runTenure } from './run-tenure.ts'

const terminal = processTerminal()
const exitCode = await runTenure(process.argv.slice(2), terminal)
process.exitCode = terminal.interrupted.reason instanceof OutputClosed ? 0 : exitCode
