import { EventEmitter } from 'node:events'
import { describe, expect, test } from 'vitest'
import type { Logger } from '../../src/ports/logger.ts'
import { silentLogger } from '../../src/ports/logger.ts'
import { OutsideWait, SelfWaitError } from '../../src/term/self-wait.ts'
import type { Term } from '../../src/term/term.ts'
import { freshTerm } from '../support/fresh-term.ts'
import { createManager, janitor } from '../support/virtual-manager.ts'

type Wait = (term: Term, manager: ReturnType<typeof createManager>['manager']) => Promise<unknown>

interface LeadOptions {
  readonly isAlwaysOn?: boolean
  /** Controllers that need no leadership and are registered before. */
  readonly others?: readonly string[]
}

async function lead(wait: Wait, { isAlwaysOn = false, others = [] }: LeadOptions = {}) {
  const lines: { readonly event: unknown; readonly message: string }[] = []
  const write = (fields: Readonly<Record<string, unknown>>, message: string): void => {
    if (fields['event'] === 'self-wait' || fields['event'] === 'wedged') lines.push({ event: fields['event'], message })
  }
  const logger: Logger = { ...silentLogger, warn: write, error: write, child: () => logger }
  const fatals: Error[] = []
  const made = createManager({ logger, terminate: (error) => fatals.push(error) })
  const { manager, clock } = made
  const outcome = Promise.withResolvers<unknown>()
  for (const other of others) manager.register(() => janitor(undefined, other), { needsLeadership: false })
  manager.register(
    () =>
      janitor(async (term) => {
        await wait(term, manager).then(outcome.resolve, (error: unknown) => {
          outcome.resolve(error)
          throw error
        })
        await term.sleep(1e12)
      }),
    { needsLeadership: !isAlwaysOn },
  )
  const ended: unknown[] = []
  manager.on((event) => {
    if (event.kind === 'term-over') ended.push(event)
  })
  const running = manager.start()
  running.catch(() => {})
  await clock.advance(100)
  return { ...made, lines, fatals, outcome: outcome.promise, ended, running }
}

describe('A task that waits for the end of its own term', () => {
  const waits: Readonly<Record<string, Wait>> = {
    'manager.stepDown()': (_, manager) => manager.stepDown(),
    'candidacy.stepDown()': async (_, manager) => manager.candidacies[0]?.stepDown(),
    'manager.stop()': (_, manager) => manager.stop(),
    'the disposal of the manager': (_, manager) => manager[Symbol.asyncDispose](),
    'a task that waits for it': (term, manager) => term.spawn('inner', () => manager.stepDown()),
    'a function that is called later': (term, manager) =>
      new Promise((resolve, reject) => {
        void term.sleep(10).then(async () => manager.stepDown().then(resolve, reject))
      }),
    'one of several promises': (_, manager) => Promise.all([manager.stepDown(), Promise.resolve()]),
  }

  test.each(Object.entries(waits))(
    'by way of %s is reported at once, and rejected before it is wedged',
    async (_, wait) => {
      const { clock, lines, outcome, fatals, ended } = await lead(wait)
      expect(lines).toMatchObject([{ event: 'self-wait' }])
      expect(lines[0]?.message).toMatch(
        /^A task of controller `janitor` awaits `(stepDown|stop)\(\)`, which waits for that task to end\. Do not await it/,
      )
      await clock.advance(19_800)
      expect(ended).toEqual([])
      await clock.advance(3000)
      expect(await outcome).toBeInstanceOf(SelfWaitError)
      expect(await outcome).toMatchObject({ code: 'SELF_WAIT' })
      expect(ended).toMatchObject([{ drain: 'aborted', outcome: 'released', errors: { 0: expect.any(SelfWaitError) } }])
      expect([fatals, lines.length]).toEqual([[], 1])
    },
  )

  test('by way of a promise that was made outside of it is reported as well', async () => {
    let running: Promise<void> | undefined
    const {
      lines,
      running: promise,
      clock,
      manager,
    } = await lead(async (term) => {
      await term.sleep(500)
      await running
    })
    running = promise
    await clock.advance(1000)
    expect(lines.map(({ message }) => message)).toEqual([expect.stringContaining('`start()`')])
    void manager.stop()
    await clock.advance(30_000)
    await promise
  })

  test('in a listener of something outside of the term is reported as well', async () => {
    const bus = new EventEmitter()
    const { lines, clock, fatals } = await lead(async (term, manager) => {
      term.listen(bus, 'enough', () => manager.stepDown())
    })
    bus.emit('enough')
    await clock.advance(25_000)
    expect([lines.length, fatals]).toEqual([1, []])
  })

  test.each([
    ['alone', []],
    ['beside others', ['server', 'cache']],
  ])('is reported for a controller that needs no leadership, %s, where it waits for the manager', async (_, others) => {
    const options = { isAlwaysOn: true, others }
    const { lines, clock, fatals, running } = await lead((_term, manager) => manager.stop(), options)
    await clock.advance(30_000)
    await running
    expect([lines.length, fatals]).toEqual([1, []])
  })
})

describe('Nothing is reported', () => {
  test('where a task asks for the end and does not wait', async () => {
    const { lines, clock, ended } = await lead(async (_, manager) => void manager.stepDown())
    await clock.advance(1000)
    expect([lines, ended.length]).toEqual([[], 1])
  })

  test('where `term.stepDown()` is used', async () => {
    const { lines, clock, ended } = await lead(async (term) => term.stepDown())
    await clock.advance(1000)
    expect([lines, ended.length]).toEqual([[], 1])
  })

  test('where something outside of the term waits', async () => {
    const { lines, manager, clock } = await lead(async () => {})
    const result = manager.stepDown()
    await clock.advance(1000)
    expect(await result).toMatchObject({ kind: 'stepped-down', outcome: 'released' })
    expect(lines).toEqual([])
  })

  test('where a controller that needs no leadership waits for the end of a term', async () => {
    const { lines, outcome, clock } = await lead(
      async (term, manager) => {
        await term.sleep(1000)
        return manager.stepDown()
      },
      { isAlwaysOn: true },
    )
    await clock.advance(3000)
    expect(await outcome).toMatchObject({ kind: 'stepped-down' })
    expect(lines).toEqual([])
  })

  test('where what a task has called waits, and the term ends in time: it gets the outcome', async () => {
    const results: unknown[] = []
    const { clock, ended } = await lead(
      async (_, manager) => void manager.stepDown().then((result) => results.push(result)),
    )
    await clock.advance(1000)
    expect(results).toMatchObject([{ kind: 'stepped-down', outcome: 'released' }])
    expect(ended).toHaveLength(1)
  })
})

test('What a task waits for may come in the grace period after the hard abort, and leaves no timer', async () => {
  const { clock, term } = freshTerm()
  const end = Promise.withResolvers<string>()
  const hard = new AbortController()
  const reported: unknown[] = []
  const wait = OutsideWait.around(end.promise, {
    call: 'stop()',
    hardSignalOf: () => hard.signal,
    abortGraceMs: 1000,
    clock,
    onSelfWait: (error) => reported.push(error),
  })
  const result = term.scope.enter(() => wait)
  await clock.runAllMicrotasks()
  hard.abort()
  await clock.advance(499)
  expect([reported.length, clock.pendingTimers]).toEqual([1, 1])
  end.resolve('over')
  expect([await result, clock.pendingTimers]).toEqual(['over', 0])
})
