import { describe, expect, test } from 'vitest'
import { NextDev } from '../src/next-dev.ts'

const OWN = '/own/kubeconfig'
const OTHER = '/other/kubeconfig'

describe('The next `tenure dev`', () => {
  test('is that of the same project, whether it ran at the end of the last one or not', () => {
    const next = new NextDev(OWN)
    const other = { pid: 2, project: OTHER }
    expect(next.choose([other, { pid: 3, project: OWN }])).toEqual({ pid: 3 })
    expect(next.choose([other])).toEqual({
      waitsFor: 'one serves /own/kubeconfig: PID 2 ran before, for another project',
    })
    expect(next.choose([other, { pid: 4, project: OWN }, { pid: 5, project: OTHER }])).toEqual({ pid: 4 })
  })

  test('is another one that has started since, unless several have', () => {
    const next = new NextDev(OWN)
    expect(next.choose([{ pid: 2, project: OTHER }])).toMatchObject({ waitsFor: expect.stringContaining('PID 2') })
    const third = { pid: 3, project: '/third/kubeconfig' }
    expect(next.choose([{ pid: 2, project: OTHER }, third])).toEqual({ pid: 3 })
    expect(next.choose([third, { pid: 4, project: '/fourth/kubeconfig' }])).toEqual({
      waitsFor: 'only one of PID 3, PID 4 is left',
    })
  })

  test('is unknown where two serve the same project, or one does not answer', () => {
    const next = new NextDev(OWN)
    expect(next.choose([])).toEqual({ waitsFor: 'one starts' })
    const two = [2, 3].map((pid) => ({ pid, project: OWN }))
    expect(next.choose(two)).toEqual({ waitsFor: 'only one of PID 2, PID 3 is left' })
    expect(new NextDev(undefined).choose([{ pid: 2, project: undefined }])).toEqual({
      waitsFor: 'another one starts: PID 2 ran before, for another project',
    })
  })
})
