import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { GROWN } from './grown.ts'

/** The result of one plant under one detector. */
export interface Verdict {
  /** It reports that something was left. */
  readonly caught: boolean
  /** It reports the place in the plant. */
  readonly named: boolean
  /** The run fails. */
  readonly failed: boolean
  /** It does not let the plant act, so nothing was left and nothing was missed. */
  readonly refused: boolean
}

/** A program that looks for leaks. */
export interface Detector {
  readonly id: string
  readonly title: string
  run(plant: string, variant: 'leak' | 'clean'): Promise<Verdict>
}

const HERE = import.meta.dirname
const NODE = [process.execPath, '--conditions=@tenure/source', '--disable-warning=ExperimentalWarning'] as const
const PLACE = /leaks[\\/]plants[\\/][\w-]+\.ts/
/** The message of jest for a call that it does not allow. */
const REFUSED = /is not supported in Jest/
const LONGEST_RUN_MS = 120_000

/** Every detector, ours first. */
export function allDetectors(): readonly Detector[] {
  return [
    program('ours', '@tenure/testing', [...NODE, subject('ours.ts')], (output) =>
      /\d+ leaks?, still there/.test(output),
    ),
    withVitest(binOf('vitest', 'vitest.mjs')),
    withJest(binOf('jest', 'bin/jest.js')),
    // One handle always exists: the timer of the subject itself.
    program('why_is_node_running', 'why-is-node-running', [...NODE, subject('why-is-node-running.ts')], (output) =>
      /There are (?!1 )\d+ handle/.test(output),
    ),
    program('active_resources', 'getActiveResourcesInfo()', [...NODE, subject('active-resources.ts')], (output) =>
      /left: \S/.test(output),
    ),
  ]
}

function withVitest(bin: string): Detector {
  const args = ['run', '--config', join(HERE, 'vitest.config.ts'), '--detect-async-leaks']
  const command = [process.execPath, '--conditions=@tenure/source', bin, ...args]
  return program('vitest', 'vitest --detect-async-leaks', command, (output) => /Leaks\s+[1-9]|Async Leaks/.test(output))
}

function withJest(bin: string): Detector {
  const args = ['--config', join(HERE, 'jest.config.json'), '--detectOpenHandles', '--forceExit']
  const command = [process.execPath, '--experimental-vm-modules', '--conditions=@tenure/source', bin, ...args]
  return program('jest', 'jest --detectOpenHandles', command, (output) => /open handles? potentially/.test(output))
}

function program(
  id: string,
  title: string,
  command: readonly string[],
  isCaught: (output: string) => boolean,
): Detector {
  return {
    id,
    title,
    async run(plant, variant) {
      const { code, output } = await execute(command, { PLANT: plant, VARIANT: variant })
      const refused = REFUSED.test(output)
      if (!refused && !output.includes(GROWN)) throw new Error(`${title} did not run \`${plant}\`:\n${output}`)
      const caught = !refused && isCaught(output)
      return { caught, named: caught && PLACE.test(output), failed: code !== 0, refused }
    },
  }
}

interface Execution {
  readonly code: number | null
  readonly output: string
}

async function execute([file = '', ...args]: readonly string[], variables: Record<string, string>): Promise<Execution> {
  const env = { ...process.env, ...variables, NO_COLOR: '1', FORCE_COLOR: undefined }
  const child = spawn(file, args, { env, cwd: HERE, timeout: LONGEST_RUN_MS, killSignal: 'SIGKILL' })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const { promise, resolve } = Promise.withResolvers<number | null>()
  child.on('exit', resolve)
  const code = await promise
  return { code, output: Buffer.concat(chunks).toString() }
}

function subject(name: string): string {
  return join(HERE, 'subjects', name)
}

function binOf(name: string, path: string): string {
  return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), path)
}
