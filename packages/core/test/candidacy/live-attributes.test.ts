import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import type { LeaseOptions } from '../../src/candidacy/lease-options.ts'
import { LiveAttributes } from '../../src/candidacy/live-attributes.ts'
import { silentLogger } from '../../src/ports/logger.ts'

function attributesOf(attributes: LeaseOptions['attributes']) {
  const clock = new VirtualClock()
  const warnings: (readonly [object, string])[] = []
  const logger = { ...silentLogger, warn: (fields: object, text: string) => void warnings.push([fields, text]) }
  const options = { lease: { name: 'lease', ...(attributes !== undefined && { attributes }) }, clock, logger }
  return { clock, warnings, live: new LiveAttributes(options) }
}

const FIELDS = { lease: 'lease', event: 'attributes-unusable' }

describe('The attributes of a replica', () => {
  test('are none, or those of the option', () => {
    expect(attributesOf(undefined).live.current).toBeUndefined()
    expect(attributesOf({ room: 12 }).live.current).toEqual({ room: 12 })
  })

  test('are asked of a function once a second at most', async () => {
    let calls = 0
    const { live, clock } = attributesOf(() => ({ calls: ++calls }))
    expect([live.current, live.current]).toEqual([{ calls: 1 }, { calls: 1 }])
    await clock.advance(999)
    expect(live.current).toEqual({ calls: 1 })
    await clock.advance(1)
    expect(live.current).toEqual({ calls: 2 })
  })

  test('do not change with the object that the function returned', () => {
    const answer = { room: 12 }
    const { live } = attributesOf(() => answer)
    expect(live.current).toEqual({ room: 12 })
    answer.room = 13
    expect(live.current).toEqual({ room: 12 })
  })

  test('stay as they were while the function fails, which is warned of once', async () => {
    let isBroken = false
    const { live, clock, warnings } = attributesOf(() => {
      if (isBroken) throw new Error('no metadata')
      return { room: 12 }
    })
    expect(live.current).toEqual({ room: 12 })
    isBroken = true
    for (let second = 0; second < 3; second++) {
      await clock.advance(1000)
      expect(live.current).toEqual({ room: 12 })
    }
    expect(warnings).toEqual([[FIELDS, '`lease.attributes` of lease failed: no metadata. Its last good answer counts']])
  })

  test('stay as they were while the function returns something else', () => {
    const { live, warnings } = attributesOf(() => ({ nested: {} }) as never)
    expect(live.current).toBeUndefined()
    expect(warnings).toEqual([
      [
        FIELDS,
        '`lease.attributes` of lease returned no flat object of texts, numbers and booleans of at most 512 characters ' +
          'as JSON. Its last good answer counts',
      ],
    ])
  })
})
