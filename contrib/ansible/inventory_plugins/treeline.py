# An Ansible inventory of Treeline's servers, in one request: groups from their stacks, host variables from their records.
# ../README.md says how to use it. Needs only ansible-core 2.14 or newer.
from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import queue
import re
import ssl
import tempfile
import threading
import time
import urllib.parse
import zlib

from ansible import constants
from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Constructable
from ansible.utils.unsafe_proxy import wrap_var
from ansible.utils.vars import isidentifier
from ansible.vars.reserved import get_reserved_names

DOCUMENTATION = r'''
name: treeline
short_description: Servers of Treeline with their configuration
description:
  - Reads all servers with a record from a Treeline controller, in one request over mutual TLS.
  - The record of a server is its host variable C(treeline), a dictionary. Its keys are host variables too, except those with
    a meaning in Ansible, such as C(name), C(environment) and C(ansible_…), and those that cannot be variables, such as C(profile::port).
  - Groups are C(instance_…), C(group_…) (instance and resource key), C(role_…), C(environment_…) and C(location_…).
  - If the inventory cannot be read, Ansible ends, even without C(any_unparsed_is_failed).
extends_documentation_fragment: [constructed]
options:
  plugin:
    description: Marks the file as one of this plugin.
    required: true
    choices: [treeline]
  server:
    description: The address of the controller, such as C(https://treeline.example:8443).
    type: str
    required: true
    env: [{name: TREELINE_SERVER}]
  ca:
    description: A file with the certificates of the only authorities that are trusted for the controller's certificate.
    type: path
    required: true
    env: [{name: TREELINE_CA}]
  cert:
    description: The file with the client certificate, which is registered with the controller.
    type: path
    required: true
    env: [{name: TREELINE_CERT}]
  key:
    description: The file with its private key, without a passphrase.
    type: path
    required: true
    env: [{name: TREELINE_KEY}]
  timeout:
    description: Seconds for a whole answer, including retries.
    type: float
    default: 30
    env: [{name: TREELINE_TIMEOUT}]
  variables:
    description: Whether the keys of a record are host variables too, in addition to C(treeline).
    type: bool
    default: true
  cache_directory:
    description: Where the last answer is kept, so that the controller does not send an unchanged one again. Every run still asks.
    type: path
    default: ~/.cache/treeline-ansible
    env: [{name: TREELINE_CACHE_DIRECTORY}]
'''

EXAMPLES = r'''
# inventory.treeline.yaml
plugin: treeline
server: https://treeline.example:8443
ca: /etc/treeline/ca.crt
cert: /etc/treeline/ansible.crt
key: /etc/treeline/ansible.key
compose:
  ansible_host: address
keyed_groups:
  - { prefix: zone, key: zone }
groups:
  verbose: log_level == "debug"
'''

ALL = '/hiera/all?inventory=true'
MIB = 1024 * 1024
ANSWER_BYTES_MAX = 512 * MIB
# Names with a meaning in Ansible's templates and connections, in addition to those of plays and tasks. Only `treeline` has them.
RESERVED = frozenset((
    *('dict', 'group_names', 'groups', 'hostvars', 'item', 'lookup', 'now', 'omit', 'play_hosts', 'playbook_dir', 'q', 'query', 'range'),
    *('treeline', 'undef', 'vars'),
))
RESERVED_PREFIXES = ('_', 'ansible_', 'discovered_', 'inventory_', 'role_')
SELECTORS = ('role', 'environment', 'location')
NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9._-]{0,249}')
# A text with only these characters is never a template, even if a task changes the delimiters.
PLAIN = re.compile(r'[A-Za-z0-9 _.,:/@+-]*')


class Controller:
    """Sends requests to a controller. Every failure is an AnsibleParserError with its cause."""

    def __init__(self, server, ca, cert, key, timeout):
        address = urllib.parse.urlsplit(server)
        if address.scheme != 'https' or not address.hostname or address.path.strip('/'):
            raise AnsibleParserError(f'server is the address of a controller, https://HOST:PORT, not "{server}"')
        self.server = server
        self.timeout = timeout
        try:
            tls = ssl.create_default_context(cafile=ca)
        except (OSError, ValueError) as error:
            raise AnsibleParserError(f'cannot read certificates from {ca}: {error}') from error
        try:
            # Without this password, OpenSSL would ask for the passphrase of a key at the terminal.
            tls.load_cert_chain(cert, key, password=lambda: '')
        except (OSError, ValueError) as error:
            raise AnsibleParserError(f'cannot use the certificate {cert} with the key {key}: {error}') from error
        self.connection = http.client.HTTPSConnection(address.hostname, address.port or 443, timeout=timeout, context=tls)

    def request(self, method, path, headers=None, body=None):
        """Returns status, headers and body. Repeats a request with the answer 429 or 503 until the timeout."""
        deadline = time.monotonic() + self.timeout
        while True:
            status, answered, content = self._within(deadline, lambda: self._exchange(method, path, headers or {}, body))
            pause = int(answered.get('Retry-After') or 1) if status in (429, 503) else 0
            if pause == 0 or time.monotonic() + pause >= deadline:
                return status, answered, content
            time.sleep(pause)

    def refusal(self, status, content):
        """Returns the message of an error answer."""
        try:
            answer = json.loads(content)
            return f'{self.server} answered {status} {answer["error"]}: {answer["message"]}'
        except (ValueError, TypeError, KeyError):
            return f'{self.server} answered {status}, and not as a Treeline controller does'

    def _within(self, deadline, work):
        """Returns what `work` returns. Runs it in a thread: timeouts of sockets cover single reads, and no lookup of names."""
        answers = queue.SimpleQueue()

        def run():
            try:
                answers.put((work(), None))
            except Exception as error:  # Raised below.
                answers.put((None, error))

        threading.Thread(target=run, daemon=True).start()
        try:
            answer, error = answers.get(timeout=max(0.001, deadline - time.monotonic()))
        except queue.Empty:
            raise AnsibleParserError(f'{self.server} has not answered within {self.timeout:g} s') from None
        if error is not None:
            self.connection.close()
            raise AnsibleParserError(self._explain(error)) from error
        return answer

    def _exchange(self, method, path, headers, body):
        was_open = self.connection.sock is not None
        try:
            self.connection.request(method, path, body, headers)
            response = self.connection.getresponse()
        except (ConnectionError, http.client.HTTPException):
            # The controller may close an idle connection just when it is used.
            if not was_open:
                raise
            self.connection.close()
            return self._exchange(method, path, headers, body)
        content = response.read(ANSWER_BYTES_MAX + 1)
        if response.headers.get('Content-Encoding') == 'gzip':
            content = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(content, ANSWER_BYTES_MAX + 1)
        if len(content) > ANSWER_BYTES_MAX:
            raise OSError(f'the answer is larger than {ANSWER_BYTES_MAX // MIB} MiB')
        return response.status, response.headers, content

    def _explain(self, error):
        if isinstance(error, ssl.SSLCertVerificationError):
            return f'the certificate of {self.server} is not trusted: {error.verify_message}'
        if isinstance(error, TimeoutError):
            return f'{self.server} has not answered within {self.timeout:g} s'
        if isinstance(error, (ssl.SSLError, ConnectionResetError)):
            return f'{self.server} ended the TLS connection; does it trust the authority of the client certificate? {error}'
        return f'cannot ask {self.server}: {error}'


class Cache:
    """The last answer, in a file that only its owner can read. Requests contain only the digest of the file."""

    def __init__(self, directory, name):
        self.path = os.path.join(directory, f'{hashlib.sha256(name.encode()).hexdigest()[:32]}.json')

    def read(self):
        """Returns the answer and its ETag, which is the digest of the bytes: a damaged file matches no answer."""
        try:
            with open(self.path, 'rb') as file:
                content = file.read(ANSWER_BYTES_MAX)
        except OSError:  # None is there, or it cannot be read: request the whole answer.
            return None, None
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())[:22].decode()
        return content, f'"{digest}"'

    def write(self, content):
        directory = os.path.dirname(self.path)
        os.makedirs(directory, mode=0o700, exist_ok=True)
        # The file gets the mode 0600.
        with tempfile.NamedTemporaryFile(dir=directory, delete=False) as file:
            file.write(content)
        os.replace(file.name, self.path)


class InventoryModule(BaseInventoryPlugin, Constructable):
    NAME = 'treeline'

    # For the callback: by inventory file, the controller, and the ETag of each host's first record. After refresh_inventory,
    # a playbook may have used both records of a host, and only the first one is certain.
    used = {}

    def verify_file(self, path):
        return super().verify_file(path) and path.endswith(('.treeline.yaml', '.treeline.yml'))

    def parse(self, inventory, loader, path, cache=True):
        super().parse(inventory, loader, path, cache)
        self.variables = {}  # Whether a key is a variable: 10,000 records have the same few keys.
        try:
            self._read_config(path)
            controller = Controller(*(self.get_option(name) for name in ('server', 'ca', 'cert', 'key', 'timeout')))
            nodes = self._read_nodes(controller)
            self._add_nodes(nodes)
        except Exception:
            # Without this, Ansible warns, continues with the hosts of its other sources, and ends with 0.
            constants.INVENTORY_ANY_UNPARSED_IS_FAILED = True
            raise
        _, before = self.used.get(path, (None, {}))
        self.used[path] = (controller, {name: node['etag'] for name, node in nodes.items()} | before)

    def _read_config(self, path):
        unknown = sorted(set(self._read_config_data(path)) - set(self._options))
        if unknown:
            raise AnsibleParserError(f'{path}: there is no option "{unknown[0]}"; those of the plugin are {", ".join(sorted(self._options))}')

    def _read_nodes(self, controller):
        """Returns all nodes by name, each with group, etag and record."""
        cache = Cache(self.get_option('cache_directory'), f'{controller.server}\n{self.get_option("cert")}')
        kept, etag = cache.read()
        status, _, content = controller.request('GET', ALL, {'Accept-Encoding': 'gzip', **({'If-None-Match': etag} if etag else {})})
        if status == 304 and kept is not None:
            content = kept
        elif status != 200:
            raise AnsibleParserError(controller.refusal(status, content))
        try:
            nodes = json.loads(content)
            if not all(NAME.fullmatch(name) and node['etag'] and node['record']['name'] == name for name, node in nodes.items()):
                raise ValueError('a node has an invalid name, or lacks its etag')
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise AnsibleParserError(f'{controller.server} did not answer with an inventory; is it a Treeline controller of this version? {error!r}') from error
        if status == 200:
            try:
                cache.write(content)
            except OSError as error:
                self.display.warning(f'treeline: the answer is not kept for the next run: {error}')
        return nodes

    def _add_nodes(self, nodes):
        memberships = {name: list(groups_of(node)) for name, node in nodes.items()}
        safe_names = self._name_groups({group for groups in memberships.values() for group in groups})
        for safe_name in safe_names.values():
            self.inventory.add_group(safe_name)
        for name, node in nodes.items():
            # Ansible would set the host's variables for the whole group.
            if name in self.inventory.groups:
                raise AnsibleParserError(f'the server "{name}" has the name of a group; Ansible cannot tell them apart')
            # Tasks for Ansible's own machine, such as those with delegate_to: localhost, would run on that server.
            if name in constants.LOCALHOST:
                raise AnsibleParserError(f'the server "{name}" has a name that Ansible uses for its own machine; rename it')
            self.inventory.add_host(name)
            record = as_data(node['record'])
            variables = {key: record[key] for key in record if self._is_variable(key)} | {'treeline': record}
            for key, value in variables.items():
                self.inventory.set_variable(name, key, value)
            for group in memberships[name]:
                self.inventory.add_child(safe_names[group], name)
            self._construct(name, variables)

    def _is_variable(self, key):
        if key not in self.variables:
            is_reserved = key in RESERVED or key in get_reserved_names() or key.startswith(RESERVED_PREFIXES)
            self.variables[key] = self.get_option('variables') and isidentifier(key) and not is_reserved
        return self.variables[key]

    def _construct(self, name, variables):
        strict = self.get_option('strict')
        self._set_composite_vars(self.get_option('compose'), variables, name, strict=strict)
        self._add_host_to_composed_groups(self.get_option('groups'), variables, name, strict=strict)
        self._add_host_to_keyed_groups(self.get_option('keyed_groups'), variables, name, strict=strict)

    def _name_groups(self, groups):
        """Returns the unique name of each group in Ansible: a play for one group must not run on servers of another."""
        alike = {}
        for group in sorted(groups):
            alike.setdefault(self._sanitize_group_name('_'.join(group)), []).append(group)
        names = {}
        for safe_name, members in alike.items():
            for group in members:
                digest = hashlib.sha256('/'.join(group).encode()).hexdigest()[:8]
                names[group] = safe_name if len(members) == 1 else f'{safe_name}_{digest}'
            if len(members) > 1:
                renamed = ', '.join(f'{" ".join(group)} is {names[group]}' for group in members)
                self.display.warning(f'treeline: several groups would be called {safe_name}: {renamed}')
        return names


def groups_of(node):
    """Yields the groups of a node, each as its kind and the names of its objects."""
    record = node['record']
    for instance in record.get('stackInstance', []):
        yield ('instance', instance)
        if node['group']:
            yield ('group', instance, node['group'])
    for key in SELECTORS:
        if isinstance(record.get(key), str) and record[key]:
            yield (key, record[key])


def as_data(value):
    """Returns a value whose texts Ansible never runs as templates. Keys of records cannot be templates."""
    if isinstance(value, dict):
        return {key: as_data(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_data(item) for item in value]
    if isinstance(value, str) and not PLAIN.fullmatch(value):
        return wrap_var(value)
    return value
