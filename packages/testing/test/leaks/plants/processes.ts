import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { BroadcastChannel, MessageChannel, Worker } from 'node:worker_threads'
import type { Plant } from './plant.ts'

function startChild(): ChildProcess {
  return spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'], { env: {} })
}

async function kill(child: ChildProcess): Promise<void> {
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
}

async function startWorker(): Promise<Worker> {
  const worker = new Worker('setTimeout(() => {}, 60_000)', { eval: true, execArgv: [] })
  await once(worker, 'online')
  return worker
}

export const processPlants: readonly Plant[] = [
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
