import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { RequestSlots } from '../src/client/request-slots.ts'

const unaborted = () => new AbortController().signal
const settled = () => new Promise((resolve) => setImmediate(resolve))

/** Takes a slot and writes down when it was given. */
function taking(slots: RequestSlots, log: string[], name: string, signal = unaborted()) {
  void slots.take(signal).then(
    () => log.push(name),
    () => log.push(`${name} gave up`),
  )
}

describe('the slots for requests', () => {
  test('are given at once while there are some, and then to the newest as one is given back', async () => {
    const slots = new RequestSlots(2)
    const log: string[] = []
    for (const name of ['a', 'b', 'c', 'd']) taking(slots, log, name)
    await settled()
    expect(log).toEqual(['a', 'b'])
    slots.release()
    await settled()
    slots.release()
    await settled()
    expect(log).toEqual(['a', 'b', 'd', 'c'])
  })

  test('are not given to a caller that has given up, which leaves no listener behind', async () => {
    const slots = new RequestSlots(1)
    const log: string[] = []
    const impatient = new AbortController()
    taking(slots, log, 'a')
    taking(slots, log, 'b', impatient.signal)
    impatient.abort()
    await settled()
    slots.release()
    taking(slots, log, 'c')
    await settled()
    expect(log).toEqual(['a', 'b gave up', 'c'])
    expect(getEventListeners(impatient.signal, 'abort')).toHaveLength(0)
    await expect(slots.take(AbortSignal.abort())).rejects.toThrow()
    await expect(new RequestSlots(1).take(AbortSignal.abort())).rejects.toThrow()
  })
})
