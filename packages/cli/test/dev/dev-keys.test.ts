import { expect, test } from 'vitest'
import { DevKeys } from '../../src/dev/dev-keys.ts'

/** Keys over two replicas, and what they did. */
function pressing(leader: string | undefined) {
  const did: string[] = []
  let said = ''
  const act = (what: string) => (name: string) => void did.push(`${what} ${name}`)
  const keys = new DevKeys(
    {
      names: ['replica-1', 'replica-2'],
      leaders: async () => new Set(leader === undefined ? [] : [leader]),
      stepDown: async () => void did.push('step down'),
      kill: act('kill'),
      togglePause: act('pause'),
      toggleCut: act('cut'),
      quit: () => void did.push('quit'),
      hurry: () => void did.push('hurry'),
    },
    { err: (text) => void (said += text) },
  )
  return {
    did,
    said: () => said,
    press: async (pressed: string) => {
      for (const key of pressed) await keys.press(key)
    },
  }
}

test('a digit chooses the replica of one key, and without it the key is for the leader', async () => {
  const { did, press } = pressing('replica-2')
  await press('1kp2cs')
  expect(did).toEqual(['kill replica-1', 'pause replica-2', 'cut replica-2', 'step down'])
})

test('a key without a leader, and a digit without a replica, say so', async () => {
  const { did, said, press } = pressing(undefined)
  await press('k9')
  expect(did).toEqual([])
  expect(said()).toBe('No replica leads. Press the digit of a replica first.\nThere is no replica 9.\n')
})

test('quitting twice hurries, by q or by Ctrl-C', async () => {
  const { did, press } = pressing(undefined)
  await press('q\u0003')
  expect(did).toEqual(['quit', 'hurry'])
})
