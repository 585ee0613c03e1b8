import { spawn } from 'node:child_process'
import { plainEnvironment } from './environment.ts'

/** How a command ended, and all that it has written. */
export interface Outcome {
  readonly code: number | null
  readonly output: string
}

/** Where and with what a command runs. */
export interface CommandOptions {
  readonly cwd: string
  readonly env?: NodeJS.ProcessEnv
  readonly signal?: AbortSignal
}

/** Runs a command to its end. Rejects only when it cannot be started. */
export function run(command: string, args: readonly string[], options: CommandOptions): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
  const child = spawn(command, [...args], { env: plainEnvironment(), ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.on('error', reject)
  child.on('close', (code) => resolve({ code, output: Buffer.concat(chunks).toString('utf8') }))
  return promise
}

/** Runs a command that has to succeed. @throws Error with all that it has written when it does not */
export async function succeed(command: string, args: readonly string[], options: CommandOptions): Promise<string> {
  const { code, output } = await run(command, args, options)
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with code ${code}:\n${output}`)
  return output
}
