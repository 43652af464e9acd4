// The fields of Kubernetes objects that are read, by message: the name in JSON and the number in
// protobuf.
//
// Numbers are those of the generated.proto files of k8s.io/api (core/v1, discovery/v1) and of
// k8s.io/apimachinery (pkg/apis/meta/v1, pkg/runtime), v0.36.1. A published number never changes.
#pragma once

#include <cstdint>
#include <string_view>

namespace phantomd {

struct ApiField {
  std::string_view name;
  uint32_t number = 0;
};

namespace api {

// Pod, EndpointSlice, Node.
namespace object {
inline constexpr ApiField kMetadata{"metadata", 1};
inline constexpr ApiField kSpec{"spec", 2};      // not of an EndpointSlice
inline constexpr ApiField kStatus{"status", 3};  // not of an EndpointSlice
}  // namespace object

namespace object_meta {
inline constexpr ApiField kName{"name", 1};
inline constexpr ApiField kNamespace{"namespace", 3};
inline constexpr ApiField kUid{"uid", 5};
inline constexpr ApiField kResourceVersion{"resourceVersion", 6};
inline constexpr ApiField kCreationTimestamp{"creationTimestamp", 8};
inline constexpr ApiField kDeletionTimestamp{"deletionTimestamp", 9};
inline constexpr ApiField kDeletionGracePeriodSeconds{"deletionGracePeriodSeconds", 10};
inline constexpr ApiField kLabels{"labels", 11};
inline constexpr ApiField kAnnotations{"annotations", 12};
inline constexpr ApiField kOwnerReferences{"ownerReferences", 13};
}  // namespace object_meta

namespace owner_reference {
inline constexpr ApiField kKind{"kind", 1};
inline constexpr ApiField kName{"name", 3};
inline constexpr ApiField kController{"controller", 6};
}  // namespace owner_reference

namespace pod_spec {
inline constexpr ApiField kContainers{"containers", 2};
inline constexpr ApiField kNodeName{"nodeName", 10};
inline constexpr ApiField kHostNetwork{"hostNetwork", 11};
inline constexpr ApiField kInitContainers{"initContainers", 20};
}  // namespace pod_spec

namespace container {
inline constexpr ApiField kName{"name", 1};
inline constexpr ApiField kRestartPolicy{"restartPolicy", 24};
}  // namespace container

namespace pod_status {
inline constexpr ApiField kPhase{"phase", 1};
inline constexpr ApiField kConditions{"conditions", 2};
inline constexpr ApiField kReason{"reason", 4};
inline constexpr ApiField kPodIp{"podIP", 6};
inline constexpr ApiField kContainerStatuses{"containerStatuses", 8};
inline constexpr ApiField kInitContainerStatuses{"initContainerStatuses", 10};
inline constexpr ApiField kPodIps{"podIPs", 12};
inline constexpr ApiField kEphemeralContainerStatuses{"ephemeralContainerStatuses", 13};
}  // namespace pod_status

namespace pod_ip {
inline constexpr ApiField kIp{"ip", 1};
}  // namespace pod_ip

// PodCondition and NodeCondition.
namespace condition {
inline constexpr ApiField kType{"type", 1};
inline constexpr ApiField kStatus{"status", 2};
inline constexpr ApiField kLastHeartbeatTime{"lastHeartbeatTime", 3};  // of a Node's alone
}  // namespace condition

namespace container_status {
inline constexpr ApiField kName{"name", 1};
inline constexpr ApiField kState{"state", 2};
}  // namespace container_status

namespace container_state {
inline constexpr ApiField kRunning{"running", 2};
inline constexpr ApiField kTerminated{"terminated", 3};
}  // namespace container_state

namespace container_terminated {
inline constexpr ApiField kFinishedAt{"finishedAt", 6};
}  // namespace container_terminated

namespace endpoint_slice {
inline constexpr ApiField kEndpoints{"endpoints", 2};
inline constexpr ApiField kPorts{"ports", 3};
inline constexpr ApiField kAddressType{"addressType", 4};
}  // namespace endpoint_slice

namespace endpoint {
inline constexpr ApiField kAddresses{"addresses", 1};
inline constexpr ApiField kConditions{"conditions", 2};
inline constexpr ApiField kTargetRef{"targetRef", 4};
}  // namespace endpoint

namespace endpoint_conditions {
inline constexpr ApiField kReady{"ready", 1};
inline constexpr ApiField kServing{"serving", 2};
inline constexpr ApiField kTerminating{"terminating", 3};
}  // namespace endpoint_conditions

namespace object_reference {
inline constexpr ApiField kKind{"kind", 1};
inline constexpr ApiField kUid{"uid", 4};
}  // namespace object_reference

namespace endpoint_port {
inline constexpr ApiField kName{"name", 1};
inline constexpr ApiField kPort{"port", 3};
}  // namespace endpoint_port

namespace node_spec {
inline constexpr ApiField kPodCidr{"podCIDR", 1};
inline constexpr ApiField kPodCidrs{"podCIDRs", 7};
}  // namespace node_spec

namespace node_status {
inline constexpr ApiField kConditions{"conditions", 4};
inline constexpr ApiField kAddresses{"addresses", 5};
}  // namespace node_status

namespace node_address {
inline constexpr ApiField kType{"type", 1};
inline constexpr ApiField kAddress{"address", 2};
}  // namespace node_address

namespace list_meta {
inline constexpr ApiField kResourceVersion{"resourceVersion", 2};
inline constexpr ApiField kContinue{"continue", 3};
}  // namespace list_meta

namespace status {
inline constexpr ApiField kMessage{"message", 3};
inline constexpr ApiField kReason{"reason", 4};
inline constexpr ApiField kDetails{"details", 5};
inline constexpr ApiField kCode{"code", 6};
}  // namespace status

namespace status_details {
inline constexpr ApiField kRetryAfterSeconds{"retryAfterSeconds", 5};
}  // namespace status_details

namespace watch_event {
inline constexpr ApiField kType{"type", 1};
inline constexpr ApiField kObject{"object", 2};
}  // namespace watch_event

}  // namespace api
}  // namespace phantomd
