#!/usr/bin/env node
import '@tenure/core/supported-node'
import { spawn } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { findCommand, npmArguments } from './find-command.ts'

/*
 * `npx tenure`: runs the command of `@tenure/cli`. Services do not need it, so this package does not depend on it. If it is not installed,
 * npm fetches the same version of it, as `npx` fetches this package.
 */
const args = process.argv.slice(2)
const installed = findCommand([process.cwd(), import.meta.dirname])
if (installed === undefined) runWithNpm()
else await import(pathToFileURL(installed).href)

function runWithNpm(): void {
  const child = spawn('npm', npmArguments(args), { stdio: 'inherit', shell: process.platform === 'win32' })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void child.kill(signal))
  child.on('error', (error) => {
    process.stderr.write(
      `Could not run npm to fetch @tenure/cli: ${error.message}. Run \`npm install --save-dev @tenure/cli\`.\n`,
    )
    process.exitCode = 1
  })
  child.on('exit', (code) => (process.exitCode = code ?? 1))
}
