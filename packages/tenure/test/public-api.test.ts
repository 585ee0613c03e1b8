import * as core from '@tenure/core'
import * as fileLock from '@tenure/file-lock'
import * as kubernetes from '@tenure/kubernetes'
import * as legacyLocks from '@tenure/kubernetes/legacy-locks'
import * as ops from '@tenure/ops'
import * as tenure from 'tenure'
import { describe, expect, it } from 'vitest'

describe('the public API', () => {
  it.each(
    Object.entries({
      tenure,
      '@tenure/core': core,
      '@tenure/file-lock': fileLock,
      '@tenure/kubernetes': kubernetes,
      '@tenure/kubernetes/legacy-locks': legacyLocks,
      '@tenure/ops': ops,
    }),
  )('of %s changes only on purpose', (_name, module) => {
    expect(Object.keys(module).sort()).toMatchSnapshot()
  })
})
