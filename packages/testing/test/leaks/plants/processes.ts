import { type ChildProcess, execFile, execSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { BroadcastChannel, MessageChannel, Worker } from 'node:worker_threads'
import type { CleanUp, Plant } from './plant.ts'

function startChild(): ChildProcess {
  return spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'], { env: {} })
}

async function kill(child: ChildProcess): Promise<void> {
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
}

/** A shell that leaves a process in the background, and ends. */
async function startOrphan(start: (script: string) => string | Promise<string>): Promise<CleanUp> {
  const pid = Number(await start('sleep 60 >/dev/null 2>&1 & echo $!'))
  return () => process.kill(pid, 'SIGKILL')
}

async function runShell(script: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-c', script])
  return stdout
}

/** A child with a child of its own that lives on when it is killed. */
async function killParent(): Promise<CleanUp> {
  const parent = spawn('sh', ['-c', 'sleep 60 >/dev/null & echo $!; wait'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const [chunk] = (await once(parent.stdout, 'data')) as [Buffer]
  await kill(parent)
  return () => process.kill(Number(chunk.toString()), 'SIGKILL')
}

const descendantPlants: readonly Plant[] = [
  { name: 'process in the background', leak: () => startOrphan(runShell) },
  {
    name: 'process in the background of a call that waits',
    leak: () => startOrphan((script) => execSync(script, { encoding: 'utf8' })),
  },
  { name: 'child of a child that was killed', leak: killParent },
].map(({ name, leak }) => ({ name, kind: 'child-process', leak, clean: async () => (await leak())() }))

async function startWorker(): Promise<Worker> {
  const worker = new Worker('setTimeout(() => {}, 60_000)', { eval: true, execArgv: [] })
  await once(worker, 'online')
  return worker
}

export const processPlants: readonly Plant[] = [
  ...(process.platform === 'linux' ? descendantPlants : []),
  {
    name: 'child process',
    kind: 'child-process',
    leak: () => {
      const child = startChild()
      return () => kill(child)
    },
    clean: () => kill(startChild()),
  },
  {
    name: "unref'd child process",
    kind: 'child-process',
    leak: () => {
      const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'], { env: {}, stdio: 'ignore' })
      child.unref()
      return () => kill(child)
    },
    clean: () => kill(startChild()),
  },
  {
    name: 'worker thread',
    kind: 'worker',
    leak: async () => {
      const worker = await startWorker()
      return () => worker.terminate()
    },
    clean: async () => (await startWorker()).terminate(),
  },
  {
    name: 'MessagePort',
    kind: 'message-port',
    leak: () => {
      const { port1, port2 } = new MessageChannel()
      port2.on('message', () => {})
      return () => port1.close()
    },
    clean: () => {
      const { port1, port2 } = new MessageChannel()
      port2.on('message', () => {})
      port1.close()
    },
  },
  {
    name: 'BroadcastChannel',
    kind: 'broadcast-channel',
    leak: () => {
      const channel = new BroadcastChannel('leaks')
      return () => channel.close()
    },
    clean: () => new BroadcastChannel('leaks').close(),
  },
]
