/** A replica whose controller starts processes that start more. Every one of them writes its pid into a file of its own. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { FileLock } from '@tenure/file-lock'
import { createManager, type Term } from 'tenure'

const [path = '', folder = '', shape = ''] = process.argv.slice(2)

/** Scripts have files of their own: in nested quotes `$$` would be the pid of the shell that reads the quotes. */
const acts = (name: string): string => `sh ${join(import.meta.dirname, 'acts.sh')} ${name}`
const ignoring = (name: string): string => `sh ${join(import.meta.dirname, 'ignores-sigterm.sh')} ${name}`

const inFolder = { cwd: folder, stdio: 'ignore' } as const
const spawnOf = (script: string): string =>
  `require('node:child_process').spawn('sh', ['-c', ${JSON.stringify(script)}], ${JSON.stringify(inFolder)})`
const node = (source: string) => () => spawn(process.execPath, ['-e', source], inFolder)
const shell = (script: string) => () => spawn(script, { ...inFolder, shell: true })

const SHAPES: Readonly<Record<string, (term: Term) => unknown>> = {
  children: (term) =>
    term.child('parent', node(`${spawnOf(acts('a'))}; ${spawnOf(acts('b'))}; setInterval(() => {}, 1000)`)),
  pipeline: (term) => term.child('pipeline', shell(`${acts('a')} | ${acts('b')} | ${acts('c')}`)),
  worker: (term) =>
    term.worker(
      'worker',
      () => new Worker(`${spawnOf(acts('a'))}; ${spawnOf(acts('b'))}; setInterval(() => {}, 1000)`, { eval: true }),
    ),
  ignoring: (term) => term.child('ignoring', shell(`${ignoring('a')} & ${ignoring('b')}`)),
  daemons: (term) => term.child('daemons', shell(`setsid sh -c 'setsid ${acts('a')} &' & ${acts('b')}`)),
  orphans: (term) => term.child('orphans', shell(`${acts('a')} & (${acts('b')} &) ; exit 0`)),
}

const manager = createManager({
  lease: {
    name: 'janitor',
    leaseDurationMs: 2000,
    renewDeadlineMs: 1000,
    retryPeriodMs: 300,
    abortGraceMs: 500,
    drainTimeoutMs: 500,
  },
  lock: () => new FileLock({ path }),
  ops: false,
  logLevel: 'silent',
  argv: [],
  env: {},
})

manager.register(() => ({
  name: 'work',
  run: async (term: Term) => {
    process.send?.('began')
    SHAPES[shape]?.(term)
    await term.sleep(1e9).catch(() => {})
  },
}))

async function stepDown(): Promise<void> {
  const result = await manager.stepDown()
  process.send?.(result.kind === 'stepped-down' ? result.outcome : result.kind)
}

process.on('message', () => void stepDown())
process.channel?.unref()
await manager.start()
