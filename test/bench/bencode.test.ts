import t from 'tap';
import { bdecode, bencode } from '../../bench/support/bencode.ts';

t.test('values survive both ways, with keys in order', (t) => {
  t.equal(bencode({ b: ['x', 7], a: '' }), 'd1:a0:1:bl1:xi7eee');
  t.same(bdecode('d1:a0:1:bl1:xi7eee'), { a: '', b: ['x', 7] });
  t.end();
});

t.test('what is not bencode is refused', (t) => {
  for (const text of ['', 'i12', 'l1:a', 'd1:a', 'x', '-1:a', 'di1e1:ae']) t.throws(() => bdecode(text), RangeError, JSON.stringify(text));
  t.end();
});
