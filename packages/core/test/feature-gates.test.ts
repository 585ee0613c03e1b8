import { describe, expect, test } from 'vitest'
import { type FeatureGateSettings, parseFeatureGates, resolveFeatureGates } from '../src/feature-gates.ts'

describe('Feature gates', () => {
  test('are on by default', () => {
    expect(resolveFeatureGates()).toEqual({
      GracefulLeaderTransition: { enabled: true, stage: 'BETA' },
      ReleaseLockOnExit: { enabled: true, stage: 'BETA' },
    })
  })

  test('can be switched off one by one', () => {
    const gates = resolveFeatureGates({ ReleaseLockOnExit: false })
    expect(gates.ReleaseLockOnExit.enabled).toBe(false)
    expect(gates.GracefulLeaderTransition.enabled).toBe(true)
  })

  test('of an unknown name are an error that names the nearest known one', () => {
    const settings = { ReleaseLockOnExits: true } as FeatureGateSettings
    expect(() => resolveFeatureGates(settings)).toThrow(
      'Unknown feature gate `ReleaseLockOnExits`; did you mean `ReleaseLockOnExit`?',
    )
  })

  test('take no other value than true and false', () => {
    const settings = { ReleaseLockOnExit: 'false' } as unknown as FeatureGateSettings
    expect(() => resolveFeatureGates(settings)).toThrow(
      'Expected feature gate `ReleaseLockOnExit` to be true or false, got `false`',
    )
  })

  test.each([7, null, 'ReleaseLockOnExit=false'])('are not read from %o in place of an object', (settings) => {
    expect(() => resolveFeatureGates(settings as unknown as FeatureGateSettings)).toThrow(
      `Expected \`featureGates\` to be an object such as \`{ GracefulLeaderTransition: false }\`, got \`${settings}\``,
    )
  })

  test('are read from the form that Kubernetes components take', () => {
    expect(parseFeatureGates('GracefulLeaderTransition=false, ReleaseLockOnExit=true')).toEqual({
      GracefulLeaderTransition: false,
      ReleaseLockOnExit: true,
    })
    expect(parseFeatureGates(' GracefulLeaderTransition = true , ,')).toEqual({ GracefulLeaderTransition: true })
    expect(parseFeatureGates('')).toEqual({})
  })

  test.each(['ReleaseLockOnExit', 'ReleaseLockOnExit=', 'ReleaseLockOnExit=yes', 'ReleaseLockOnExit=TRUE'])(
    'are not read from `%s`',
    (text) => {
      expect(() => parseFeatureGates(text)).toThrow('Expected feature gates in the form')
    },
  )

  test('of an unknown name are an error in that form too', () => {
    expect(() => parseFeatureGates('Graceful=true')).toThrow('Unknown feature gate `Graceful`')
  })
})
