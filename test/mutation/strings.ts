import type { Change } from './change.ts'
import type { Place } from './syntax-tree.ts'

/** Texts that name a module or a property. The types or the loader find a change of one. */
const NAMING: ReadonlySet<string> = new Set([
  'ImportDeclaration',
  'ImportExpression',
  'ImportAttribute',
  'ExportAllDeclaration',
  'ExportNamedDeclaration',
  'ImportSpecifier',
  'ExportSpecifier',
])

/** Texts that are empty, and empty ones that are not. */
export function stringChanges({ node, parent, field }: Place): readonly Change[] {
  if (parent === undefined || NAMING.has(parent.node.type) || field === 'key') return []
  if (node.type === 'TemplateLiteral') {
    const isEmpty = node.end - node.start === 2
    const isTagged = parent.node.type === 'TaggedTemplateExpression'
    return isTagged ? [] : [{ operator: 'StringLiteral', node, after: isEmpty ? '`Stryker was here!`' : '``' }]
  }
  if (node.type !== 'Literal' || typeof node['value'] !== 'string') return []
  return [{ operator: 'StringLiteral', node, after: node['value'] === '' ? '"Stryker was here!"' : '""' }]
}
