import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterEach, describe, expect, test } from 'vitest'
import type { RunMessage } from '../../src/controller/run-channels.ts'
import { publishEvent } from '../../src/candidacy/channels.ts'
import type { CandidacyEvent } from '../../src/candidacy/events.ts'
import { Controller } from '../../src/controller/controller.ts'
import { STORE_RESTORED_CHANNEL } from '../../src/lock/store-restored-channel.ts'
import type { Term } from '../../src/term/term.ts'
import { Replica, untilEnd } from '../support/replica.ts'

const undo: (() => void)[] = []
afterEach(() => {
  for (const leave of undo.splice(0)) leave()
})

function listen(channel: string, hear: (message: never) => void): void {
  const listener = (message: unknown) => hear(message as never)
  subscribe(channel, listener)
  undo.push(() => unsubscribe(channel, listener))
}

const KINDS: Readonly<Record<CandidacyEvent['kind'], true>> = {
  state: true,
  'leader-observed': true,
  'term-began': true,
  'term-ending': true,
  'term-over': true,
  renewed: true,
  'request-failed': true,
  'controller-failed': true,
  'warm-up': true,
  wedged: true,
}

describe('The diagnostics channels', () => {
  test.each(Object.keys(KINDS))('have a name for the event %s', (kind) => {
    const heard: unknown[] = []
    listen(`tenure:${kind}`, (event: CandidacyEvent) => heard.push(event))
    const event = { kind } as CandidacyEvent
    publishEvent(event)
    expect(heard).toEqual([event])
  })

  test('carry every event of a candidacy, in order', async () => {
    const heard: CandidacyEvent[] = []
    for (const kind of Object.keys(KINDS)) listen(`tenure:${kind}`, (event: CandidacyEvent) => heard.push(event))
    const replica = await new Replica().runs(untilEnd).start()
    await replica.clock.advance(2000)
    replica.lock.failure = 'unreachable'
    await replica.clock.advance(2500)
    replica.lock.failure = undefined
    await replica.clock.advance(2500)
    void replica.candidacy.stepDown()
    await replica.clock.advance(100)
    expect(heard).toEqual(replica.events)
    expect(new Set(heard.map(({ kind }) => kind)).size).toBeGreaterThan(6)
  })

  test('have a name for the restore of a store, which locks publish', () => {
    expect(STORE_RESTORED_CHANNEL).toBe('tenure:store-restored')
  })

  test('tell the beginning and the end of every run, with the term and the controller', async () => {
    const heard: (readonly [string, RunMessage])[] = []
    listen('tenure:run-began', (message: RunMessage) => heard.push(['began', message]))
    listen('tenure:run-over', (message: RunMessage) => heard.push(['over', message]))
    const built: Janitor[] = []
    class Janitor extends Controller {
      readonly name = 'janitor'
      async run(term: Term): Promise<void> {
        built.push(this)
        if (built.length === 1) throw new Error('first run')
        await untilEnd(term)
      }
    }
    const replica = await new Replica().registers(() => new Janitor()).start()
    await replica.clock.advance(1000)
    expect(heard.map(([what]) => what)).toEqual(['began', 'over', 'began'])
    expect(heard[1]?.[1]).toBe(heard[0]?.[1])
    expect(heard.map(([, { controller }]) => controller)).toEqual([built[0], built[0], built[1]])
    expect(heard[0]?.[1].term).toMatchObject({ controller: 'janitor', lease: 'lease', epoch: 1n })
    await replica.candidacy.stop()
    expect(heard.map(([what]) => what)).toEqual(['began', 'over', 'began', 'over'])
  })
})
