// Templates with records: what they print, and what they cannot reach or exhaust.
import { describe, expect, it } from 'vitest';
import { renderTemplate, TEXT_BYTES_MAX } from '../../../src/agents/render/render-template.ts';
import type { JsonMap } from '../../../src/model/json.ts';

const RECORD: JsonMap = {
  name: 'web-1',
  role: 'web',
  cpus: 8,
  backups: false,
  ports: ['8080', '22'],
  limits: { files: 1024 },
  'profile::tls.mode': 'strict',
  'log-level': 'debug',
  markup: '<a href="x">&</a> {{ role }} {% raw %}',
  ...JSON.parse('{ "__proto__": "own", "constructor": "mine", "empty": "no literal" }'),
};

function render(text: string | Uint8Array, record: JsonMap = RECORD): string {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  return renderTemplate({ file: 'app.conf.liquid', bytes, node: 'web-1', record });
}

describe('a template prints', () => {
  it.each<readonly [what: string, template: string, text: string]>([
    ['values as they are', '{{ role }} {{ cpus }} {{ backups }} {{ log-level }}', 'web 8 false debug'],
    ['keys with other characters', '{{ ["profile::tls.mode"] }} {{ ["empty"] }}', 'strict no literal'],
    ['keys that objects have by themselves', '{{ ["__proto__"] }} {{ constructor }}', 'own mine'],
    ['text as text: no markup, and no template', '{{ markup }}', '<a href="x">&</a> {{ role }} {% raw %}'],
    ['lists in loops', '{% for port in ports %}listen {{ port }};\n{% endfor %}', 'listen 8080;\nlisten 22;\n'],
    ['lists as one text', '{{ ports | join: ", " }} {{ ports | json }}', '8080, 22 ["8080","22"]'],
    ['what a map holds', '{{ limits.files }}{% for limit in limits %} {{ limit[0] }}{% endfor %}', '1024 files'],
    ['a default', '{{ nope | default: "none" }}{{ nope.deep | default: 1 }}', 'none1'],
    ['by conditions', '{% if nope %}a{% elsif backups %}b{% else %}c{% endif %}', 'c'],
    ['no byte order mark', '\ufeff{{ role }}', 'web'],
  ])('%s', (_, template, text) => {
    expect(render(template)).toBe(text);
  });
});

describe('renderTemplate reports the place of a mistake', () => {
  it.each<readonly [template: string, message: string]>([
    ['a\n  {{ rolle }}', '2:6: neither the record of web-1 nor the template defines "rolle"; did you mean "role"?'],
    [
      '{{ x }}',
      '1:4: neither the record of web-1 nor the template defines "x"; if it may be missing, write {{ x | default: "…" }}',
    ],
    ['{% for a in nope %}{% endfor %}', '1:13: neither the record of web-1 nor the template defines "nope"'],
    ['{{ limits.nope }}', '1:4: neither the record of web-1 nor the template defines "limits.nope"'],
    ['{{ ports }}', '1:1: this is a list: choose its form, such as | join: ", " or | json, or use {% for %}'],
    ['\n{{ limits }}', '2:1: this is a map'],
    ['{{ role', '1:1: output "{{ role" not closed'],
    ['{{ role | shout }}', '1:1: undefined filter: shout'],
  ])('%j', (template, message) => {
    expect(() => render(template)).toThrow(`app.conf.liquid:${message}`);
  });

  it('for a template that is not UTF-8', () => {
    expect(() => render(Uint8Array.of(0x61, 0xff))).toThrow('app.conf.liquid: the file is not UTF-8');
  });
});

describe('a template cannot', () => {
  it.each<readonly [what: string, template: string, message: RegExp]>([
    ['read a file by include', '{% include "/etc/passwd" %}', /tag "include" not found/],
    ['read a file by layout', '{% layout "/etc/passwd" %}', /tag "layout" not found/],
    ['tell the time', '{{ "now" | date: "%s" }}', /undefined filter: date/],
    ['get around the text of a list', '{{ ports | raw }}', /undefined filter: raw/],
    ['reach a prototype', '{{ role.constructor }}', /defines "role\.constructor"/],
    ['run for ever', '{% for a in (1..9999) %}{% for b in (1..9999) %}{% endfor %}{% endfor %}', /limit exceeded/],
    ['fill the memory with a list', '{% for a in (1..999999999) %}{% endfor %}', /memory alloc limit exceeded/],
    [
      'fill it with a text',
      '{% assign s = "xxxxxxxxxx" %}{% for a in (1..60) %}{% assign s = s | append: s %}{% endfor %}',
      /memory alloc limit exceeded/,
    ],
    [
      'make a huge file',
      `{% for a in (1..9000) %}${'x'.repeat(1_000)}{% endfor %}`,
      new RegExp(`than ${TEXT_BYTES_MAX} bytes`),
    ],
  ])('%s', (_, template, message) => {
    expect(() => render(template)).toThrow(message);
  });

  it('change the record', () => {
    const record = { a: 1 };
    expect(render('{% assign a = 2 %}{% capture b %}x{% endcapture %}{{ a }}{{ b }}', record)).toBe('2x');
    expect(record).toEqual({ a: 1 });
  });
});
