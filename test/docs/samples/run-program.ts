import { startApiServer } from '@tenure/api-server'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ProgramReport } from './observe-program.ts'

/** How a program ended. */
interface ProgramEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly output: string
  readonly failures: readonly string[]
}

interface RunOptions {
  /** Arguments of Node. */
  readonly args: readonly string[]
  readonly timeoutMs: number
  /** Stops the program when it prints this; a program that leads is stopped anyway. */
  readonly until?: string
  /** Variables of the environment besides those of this process. */
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Runs a program on an embedded API server of its own, in a folder of its own. When it leads, it gets SIGTERM. Returns what is wrong:
 * it must then end with code 0 (or with SIGTERM, which NestJS sends to itself), and no controller may have failed.
 */
export async function runProblems(options: RunOptions): Promise<readonly string[]> {
  const { code, signal, output, failures } = await run(options)
  const isClean = code === 0 || (signal === 'SIGTERM' && options.args.some((arg) => arg.endsWith('.mjs')))
  if (isClean && failures.length === 0) return []
  return [...failures, `The program ended with ${signal ?? `code ${code}`}:\n${output}`]
}

async function run(options: RunOptions): Promise<ProgramEnd> {
  const folder = await mkdtemp(join(tmpdir(), 'sample-'))
  try {
    await using server = await startApiServer({ autoProvisionNamespaces: true })
    const kubeConfig = join(folder, 'kubeconfig')
    await server.writeKubeConfig(kubeConfig)
    const observer = ['--conditions=@tenure/source', '--import', join(import.meta.dirname, 'observe-program.ts')]
    const child = spawn(process.execPath, [...observer, ...options.args], {
      cwd: folder,
      env: { ...withoutTenure(process.env), KUBECONFIG: kubeConfig, TENURE_OPS_PORT: '0', ...options.env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    return await endOf(child, options)
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function endOf(child: ChildProcess, { timeoutMs, until }: RunOptions): Promise<ProgramEnd> {
  let output = ''
  const failures: string[] = []
  const listen = (chunk: Buffer): void => {
    output += chunk.toString()
    if (until !== undefined && output.includes(until)) child.kill('SIGTERM')
  }
  child.stdout?.on('data', listen)
  child.stderr?.on('data', listen)
  child.on('message', (report: ProgramReport) => {
    if (report.kind === 'failed') failures.push(report.text)
    else child.kill('SIGTERM')
  })
  const limit = setTimeout(() => {
    failures.push(`The program did not end within ${timeoutMs} ms`)
    child.kill('SIGKILL')
  }, timeoutMs)
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  clearTimeout(limit)
  return { code, signal, output, failures }
}

/** The environment without settings that the test runner or the shell has for Tenure, Node and Kubernetes. */
function withoutTenure(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const inherited = Object.entries(env).filter(([name]) => !/^(?:TENURE_|VITEST|NODE_|POD_|KUBE)/.test(name))
  return Object.fromEntries(inherited)
}
