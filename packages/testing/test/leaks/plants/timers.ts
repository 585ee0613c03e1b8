import { scheduler, setInterval as intervals, setTimeout as sleep } from 'node:timers/promises'
import { kept, letGo, type Plant } from './plant.ts'

const LONG = 60_000

function immediateChain(): () => void {
  let next = setImmediate(function again() {
    next = setImmediate(again)
  })
  return () => clearImmediate(next)
}

async function untilStopped(isStopped: () => boolean, pause: () => Promise<unknown>): Promise<void> {
  while (!isStopped()) await pause()
}

function loop(pause: () => Promise<unknown>): () => void {
  let isStopped = false
  void untilStopped(() => isStopped, pause)
  return () => (isStopped = true)
}

function abortableSleep(sleepFor: (signal: AbortSignal) => Promise<unknown>): () => void {
  const abort = new AbortController()
  sleepFor(abort.signal).catch(() => {})
  return () => abort.abort()
}

async function iterate(signal: AbortSignal): Promise<void> {
  for await (const _ of intervals(LONG, undefined, { signal }));
}

export const timerPlants: readonly Plant[] = [
  {
    name: 'timeout',
    kind: 'timeout',
    leak: () => {
      const timer = setTimeout(() => {}, LONG)
      return () => clearTimeout(timer)
    },
    clean: () => clearTimeout(setTimeout(() => {}, LONG)),
  },
  {
    name: "unref'd timeout",
    kind: 'timeout',
    leak: () => {
      const timer = setTimeout(() => {}, LONG).unref()
      return () => clearTimeout(timer)
    },
    clean: () => setTimeout(() => {}, 5).unref(),
  },
  {
    name: 'interval',
    kind: 'interval',
    leak: () => {
      const timer = setInterval(() => {}, 10)
      return () => clearInterval(timer)
    },
    clean: () => clearInterval(setInterval(() => {}, 10)),
  },
  {
    name: "unref'd interval",
    kind: 'interval',
    leak: () => {
      const timer = setInterval(() => {}, LONG).unref()
      return () => clearInterval(timer)
    },
    clean: () => {
      const timer = setInterval(() => clearInterval(timer), 1).unref()
    },
  },
  {
    name: 'timeout that sets itself again',
    kind: 'timeout',
    leak: () => {
      let timer = setTimeout(function again() {
        timer = setTimeout(again, 5)
      }, 5)
      return () => clearTimeout(timer)
    },
    clean: async () => {
      await new Promise<void>((resolve) => {
        let left = 3
        setTimeout(function again() {
          if (--left > 0) setTimeout(again, 1)
          else resolve()
        }, 1)
      })
    },
  },
  {
    name: 'chain of immediates',
    kind: 'immediate',
    leak: () => immediateChain(),
    clean: () => immediateChain()(),
  },
  {
    name: 'sleep of timers/promises',
    kind: 'sleep',
    leak: () => abortableSleep((signal) => sleep(LONG, undefined, { signal })),
    clean: () => sleep(1),
  },
  {
    name: "unref'd wait of the scheduler",
    kind: 'sleep',
    leak: () => abortableSleep((signal) => scheduler.wait(LONG, { signal, ref: false } as { signal: AbortSignal })),
    clean: () => abortableSleep((signal) => scheduler.wait(LONG, { signal }))(),
  },
  {
    name: 'iterated interval of timers/promises',
    kind: 'interval',
    leak: () => abortableSleep(iterate),
    clean: () => abortableSleep(iterate)(),
  },
  {
    name: 'AbortSignal.timeout',
    kind: 'abort-timeout',
    leak: () => {
      kept.push(AbortSignal.timeout(LONG))
      return letGo
    },
    clean: () => void AbortSignal.timeout(LONG).aborted,
  },
  {
    name: 'detached loop of sleeps',
    kind: 'async-loop',
    leak: () => loop(() => sleep(5)),
    clean: () => loop(() => sleep(1))(),
  },
  {
    name: 'detached loop of file requests',
    kind: 'async-loop',
    leak: () => loop(() => import('node:fs/promises').then(({ stat }) => stat('.'))),
    clean: () => loop(() => import('node:fs/promises').then(({ stat }) => stat('.')))(),
  },
]
