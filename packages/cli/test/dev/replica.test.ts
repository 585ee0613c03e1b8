import { VirtualClock } from '@tenure/testing/virtual-clock'
import { expect, test } from 'vitest'
import { Replica } from '../../src/dev/replica.ts'
import type { ReplicaProcess } from '../../src/dev/replica-process.ts'

/** A process that ends when the test says so. */
class FakeProcess implements ReplicaProcess {
  readonly pid = 1
  readonly signals: string[] = []
  readonly #end = Promise.withResolvers<string>()
  readonly #obeys: readonly string[]
  #isLeft = true

  constructor(obeys: readonly string[]) {
    this.#obeys = obeys
  }

  get ended(): Promise<string> {
    return this.#end.promise
  }

  signal(signal: NodeJS.Signals): void {
    this.signals.push(signal)
    if (this.#obeys.includes(signal)) this.end(`was ended by ${signal}`)
  }

  isLeft(): boolean {
    return this.#isLeft
  }

  end(how: string): void {
    this.#isLeft = false
    this.#end.resolve(how)
  }

  async close(): Promise<void> {}
}

/** A replica on virtual time, with the processes that it started so far. */
function startReplica(obeys: readonly string[] = ['SIGTERM', 'SIGKILL']) {
  const clock = new VirtualClock()
  const processes: FakeProcess[] = []
  const said: string[] = []
  const replica = new Replica({
    name: 'replica-1',
    launch: async () => {
      const process = new FakeProcess(obeys)
      processes.push(process)
      return process
    },
    say: (text) => void said.push(text),
    stopTimeoutMs: 5000,
    terminal: { clock, random: () => 0 },
    onChange: () => {},
  })
  return { clock, processes, said, replica }
}

test('a replica that ends starts again after a pause that doubles', async () => {
  const { clock, processes, said, replica } = startReplica()
  await clock.advance(0)
  processes[0]?.end('exited with 1')
  await clock.advance(499)
  expect(processes).toHaveLength(1)
  await clock.advance(1)
  processes[1]?.end('exited with 1')
  await clock.advance(999)
  expect(processes).toHaveLength(2)
  await clock.advance(1)
  expect(processes).toHaveLength(3)
  expect(said).toEqual(['exited with 1; starts again in 500ms', 'exited with 1; starts again in 1s'])
  await replica.stop()
})

test('a replica that ran for a while starts again after the shortest pause', async () => {
  const { clock, processes, said, replica } = startReplica()
  await clock.advance(0)
  processes[0]?.end('exited with 1')
  await clock.advance(500)
  await clock.advance(10_000)
  processes[1]?.end('exited with 0')
  await clock.advance(0)
  expect(said.at(-1)).toBe('exited with 0; starts again in 500ms')
  await replica.stop()
})

test('stop sends SIGTERM, and SIGKILL to a program that ignores it', async () => {
  const { clock, processes, said, replica } = startReplica(['SIGKILL'])
  await clock.advance(0)
  const stopped = replica.stop()
  await clock.advance(4900)
  expect(processes[0]?.signals).toEqual(['SIGTERM'])
  await clock.advance(200)
  await stopped
  expect(processes[0]?.signals).toEqual(['SIGTERM', 'SIGKILL'])
  expect(said).toEqual(['did not end within 5s of SIGTERM, and is killed'])
  expect(replica.state).toBe('stopped')
})

test('a restart waits for the end of the old process and pauses for nothing', async () => {
  const { clock, processes, replica } = startReplica()
  await clock.advance(0)
  const restarted = replica.restart()
  await clock.advance(5)
  await restarted
  expect(processes.map(({ signals }) => signals)).toEqual([['SIGTERM'], []])
  await replica.stop()
})

test('a restart during the pause after a failure ends the pause', async () => {
  const { clock, processes, replica } = startReplica()
  await clock.advance(0)
  processes[0]?.end('exited with 1')
  await clock.advance(10)
  await replica.restart()
  expect(processes).toHaveLength(2)
  await replica.stop()
})

test('a paused replica continues after SIGTERM, so that it can end', async () => {
  const { clock, processes, replica } = startReplica(['SIGCONT'])
  await clock.advance(0)
  replica.togglePause()
  expect([replica.state, processes[0]?.signals]).toEqual(['paused', ['SIGSTOP']])
  const stopped = replica.stop()
  await clock.advance(5)
  await stopped
  expect(processes[0]?.signals).toEqual(['SIGSTOP', 'SIGTERM', 'SIGCONT'])
})

test('a stop while the program is prepared ends it as soon as it runs', async () => {
  const { clock, processes, replica } = startReplica()
  const stopped = replica.stop()
  await clock.advance(5)
  await stopped
  expect(processes.flatMap(({ signals }) => signals)).toEqual(['SIGTERM'])
})
