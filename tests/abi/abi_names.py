# SPDX-License-Identifier: Apache-2.0
"""What ioctl-abi.json holds, under the names that backend/uapi.hpp gives it.

A name follows from the driver's by rule (k + CamelCase for numbers, CamelCase for structures);
every exception stands in a table here.
"""
import re
import sys

OLDEST = (2, 24, 7, 0)  # the oldest driver served: what ended before it is history, not ABI

# --- Where the header's names do not follow from the json's by rule -------------------------------

# Constants for a word that lost its name in newer drivers: (request, its history entry, argument).
FORMS = {'kMemBufZerocopy64Form224':
         ('NEURON_IOCTL_MEM_BUF_ZEROCOPY64', '2.24.7.0', 'neuron_ioctl_mem_buf_copy64')}
# Requests whose history is told under another request's name, with the drivers that serve them.
RENAMED = {'NEURON_IOCTL_MEM_COPY64_DEPRECATED': 'NEURON_IOCTL_MEM_COPY64',
           'NEURON_IOCTL_MEM_BUF_ZEROCOPY64_DEPRECATED': 'NEURON_IOCTL_MEM_BUF_ZEROCOPY64'}
LAST_SERVED = {'kMemBufZerocopy64Form224': 'only', 'kMemBufZerocopy64Deprecated': '2.28'}
# Numbers that the json holds as the size of something.
DERIVED = {
    'kIoctlType': ('uint32_t', lambda abi: abi['about']['type_value']),
    'kCoreSlots': ('uint32_t', lambda abi: 64 * field(abi, 'neuron_ioctl_crwl_nc_map_ext',
                                                      'bitmap')['count']),
    'kH2tQueues': ('uint32_t', lambda abi: field(
        abi, 'neuron_ioctl_get_async_h2t_dma_compl_queues', 'compl_queue_info')['count'])}
# Enumerations: (json name, what the enumerators drop, underlying type).
ENUMS = {
    'MemCategory': ('mem_alloc_category_t', 'NEURON_MEMALLOC_TYPE_', 'uint32_t'),
    'CinitState': ('neuron_cinit_state', 'NEURON_CINIT_STATE_', 'uint32_t'),
    'DmBlockType': ('neuron_dm_block_type', 'NEURON_DM_BLOCK_', 'int32_t'),
    'DmResourceType': ('neuron_dm_resource_type', 'NEURON_DM_RESOURCE_', 'uint32_t'),
    'DmaH2tCtxHandleType':
        ('neuron_dma_h2t_ctx_handle_type', 'NEURON_DMA_H2T_CTX_HANDLE_', 'int32_t'),
    'DmaQueueType': ('neuron_dma_queue_type', 'NEURON_DMA_QUEUE_TYPE_', 'uint32_t'),
    'NqDeviceType': ('NQ_DEVICE_TYPE', 'NQ_DEVICE_TYPE_', 'uint32_t'),
    'NqType': ('NQ_TYPE', 'NQ_TYPE_', 'uint32_t'),
    'NcMappingType':
        ('neuron_ioctl_nc_mapping_type', 'NEURON_IOCTL_NC_MAPPING_TYPE_', 'uint32_t'),
    'PodType': ('anonymous:NEURON_POD_TYPE_*', 'NEURON_POD_TYPE_', 'uint32_t'),
    'PodState': ('anonymous:NEURON_POD_E_STATE_*', 'NEURON_POD_E_STATE_', 'uint32_t'),
    'PodCtrlReq': ('neuron_pod_ctrl_req', 'NEURON_NPE_POD_CTRL_', 'uint32_t'),
    'UltraserverMode': ('neuron_ultraserver_mode', 'NEURON_ULTRASERVER_MODE_', 'uint32_t'),
    'MetricsMode': ('neuron_metrics_mode', 'NEURON_METRICS_MODE_', 'uint32_t'),
    'SwitchFabricBarType':
        ('neuron_switch_fabric_bar_type', 'NEURON_SWITCH_FABRIC_BAR_TYPE_', 'uint32_t'),
    'NdsNdCounter': ('anonymous:NDS_ND_COUNTER_*', 'NDS_ND_COUNTER_', 'uint32_t'),
    'NdsNcCounter': ('anonymous:NDS_NC_COUNTER_*', 'NDS_NC_COUNTER_', 'uint32_t'),
    'NdsExtNcCounter': ('anonymous:NDS_EXT_NC_COUNTER_*', 'NDS_EXT_NC_COUNTER_', 'uint32_t')}
# The feature bits stand in the json twice; the header has them as constants.
FEATURE_ENUM = 'neuron_driver_feature_flag'
# Left out on purpose: a structure no request takes, datastore layouts of the past, padding.
OMITTED = {'neuron_ioctl_notifications_destroy_nq',
           'NDS_ND_COUNTER_RESERVED', 'NDS_NC_COUNTER_RESERVED',
           'NDS_EXT_NC_COUNTER_ADDED_RESERVED', 'NDS_EXT_NC_COUNTER_COUNT_OLD',
           'NDS_TOTAL_NC_COUNTER_COUNT_OLD', 'NDS_EXT_NEURONCORE_COUNTERS_SIZE_OLD',
           'NDS_EXT_NEURONCORE_NC_DATA_SIZE_OLD', 'NDS_EXT_SECTION_SIZE_OLD',
           'NDS_EXT_OFFSET_OLD', 'NDS_EXT_NEURONCORE_NC_DATA_PADDING'}

C_TYPES = {'__s8': 'std::int8_t', '__u8': 'std::uint8_t', '__u16': 'std::uint16_t',
           '__s32': 'std::int32_t', '__u32': 'std::uint32_t', '__s64': 'std::int64_t',
           '__u64': 'std::uint64_t', 'size_t': 'std::uint64_t', 'pid_t': 'std::int32_t',
           'int': 'std::int32_t', 'char': 'char', 'void': 'void',
           'long unsigned int': 'std::uint64_t', 'volatile long unsigned int': 'std::uint64_t',
           'enum neuron_dma_queue_type': 'std::uint32_t',
           'nrt_tensor_batch_offset_t': 'std::uint64_t',
           'nrt_tensor_batch_size_t': 'std::uint64_t'}

# --- The naming rule ------------------------------------------------------------------------------


def camel(name):
    return ''.join(word[:1].upper() + word[1:].lower() for word in name.split('_'))


def short(name, *prefixes):
    for prefix in prefixes:
        if name.startswith(prefix):
            return name[len(prefix):]
    return name


def request_name(name):
    return 'k' + camel(short(name, 'NEURON_IOCTL_'))


def constant_name(name):
    return 'k' + camel(short(name, 'NEURON_IOCTL_', 'NEURON_'))


def feature_name(name):
    return 'kFeature' + camel(short(name, 'NEURON_DRIVER_FEATURE_'))


def struct_name(name):
    return camel(short(name, 'neuron_ioctl_', 'neuron_'))


# --- Reading the json -----------------------------------------------------------------------------


def field(abi, struct, name):
    return next(f for f in abi['structs'][struct]['fields'] if f['name'] == name)


def version(text):
    """'2.24.7.0' and 'after 2.26.5.0, by 2.28.0.0' (the later counts) as a tuple."""
    found = re.findall(r'\d+(?:\.\d+)+', text.split(', by ')[-1])
    return tuple(int(part) for part in found[0].split('.'))


def history(abi, request):
    name = RENAMED.get(request['name'], request['name'])
    return next(r['history'] for r in abi['ioctls'] if r['name'] == name)


def first_release(abi, request):
    since = [version(h['since']) for h in history(abi, request)
             if h['request'] == request['request']]
    return '%d.%d' % since[-1][:2]


def served_words(abi):
    """(request name, since, word) of all words that some driver from OLDEST on serves."""
    for request in abi['ioctls']:
        if request['name'] in RENAMED:
            continue
        entries = request['history']
        for entry, after in zip(entries, entries[1:] + [None]):
            if after is None or version(after['since']) > OLDEST:
                yield request['name'], entry['since'], int(entry['request'], 16)


def structs(abi):
    """C++ name -> struct of the json, with the unnamed ones that are members of others."""
    named = {struct_name(n): s for n, s in abi['structs'].items() if n not in OMITTED}
    for struct in list(named.values()):
        for f in struct['fields']:
            if 'members' in f:
                align = max(m['size'] for m in f['members'])
                named[camel(f['name'])] = {'size': f['elem_size'], 'align': align,
                                           'fields': f['members']}
    return named


def requests(abi):
    """C++ name -> (word, struct of the argument or None, request)."""
    known = {request_name(r['name']): (int(r['request'], 16), r['arg_struct'], r)
             for r in abi['ioctls']}
    for name, (of, since, argument) in FORMS.items():
        request = next(r for r in abi['ioctls'] if r['name'] == of)
        entry = next(h for h in request['history'] if h['since'] == since)
        known[name] = (int(entry['request'], 16), argument, request)
    return known


def constants(abi):
    """C++ name -> (type, value)."""
    known = {name: (ctype, value(abi)) for name, (ctype, value) in DERIVED.items()}
    for name, value in abi['constants'].items():
        if name not in OMITTED:
            known[constant_name(name)] = ('int32_t' if value < 0 else 'uint32_t', value)
    return known


def cpp_type(abi, f):
    def plain(text):
        text = text.strip()
        typedefs = {s['typedef']: n for n, s in abi['structs'].items() if 'typedef' in s}
        if text in C_TYPES:
            return C_TYPES[text]
        if text.endswith('*'):
            return plain(text[:-1]) + '*'
        if text.startswith('const '):
            return 'const ' + plain(text[len('const '):])
        if text in typedefs:
            return 'u::' + struct_name(typedefs[text])
        name = short(text, 'struct ')
        if name == '{...}':
            return 'u::' + camel(f['name'])
        if name not in abi['structs']:
            sys.exit('generate_pins: unknown type %s of %s' % (text, f['name']))
        return 'u::' + struct_name(name)

    array = re.fullmatch(r'(.*)\[\(?(\d*)\)?\]', f['type'])
    if not array:
        return plain(f['type'])
    return plain(array[1]) + ('[%s]' % array[2] if array[2] else '')
