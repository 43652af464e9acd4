//go:build ignore

// Writes the .pb files of this folder from its .json files with Kubernetes' own encoder; see README.md.
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

func main() {
	scheme := runtime.NewScheme()
	corev1.AddToScheme(scheme)
	discoveryv1.AddToScheme(scheme)
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	ser := protobuf.NewSerializer(scheme, scheme)
	raw := protobuf.NewRawSerializer(scheme, scheme)
	enc := func(o runtime.Object) []byte {
		var b bytes.Buffer
		if err := ser.Encode(o, &b); err != nil {
			panic(err)
		}
		return b.Bytes()
	}
	dir, out := os.Args[1], os.Args[2]
	for _, kind := range []string{"pods", "endpointslices", "nodes"} {
		f, err := os.Open(dir + "/" + kind + ".json")
		if err != nil {
			panic(err)
		}
		dec := json.NewDecoder(f)
		var stream bytes.Buffer
		pods := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "4800", Continue: "next-page"}}
		slices := &discoveryv1.EndpointSliceList{ListMeta: metav1.ListMeta{ResourceVersion: "4800"}}
		nodes := &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "4800"}}
		pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
		slices.SetGroupVersionKind(discoveryv1.SchemeGroupVersion.WithKind("EndpointSliceList"))
		nodes.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
		frame := func(t string, o runtime.Object) {
			ev := &metav1.WatchEvent{Type: t, Object: runtime.RawExtension{Raw: enc(o)}}
			var b bytes.Buffer
			if err := raw.Encode(ev, &b); err != nil {
				panic(err)
			}
			var l [4]byte
			binary.BigEndian.PutUint32(l[:], uint32(b.Len()))
			stream.Write(l[:])
			stream.Write(b.Bytes())
		}
		for {
			var ev struct {
				Type   string
				Object json.RawMessage
			}
			if err := dec.Decode(&ev); err == io.EOF {
				break
			} else if err != nil {
				panic(err)
			}
			var o runtime.Object
			switch kind {
			case "pods":
				p := &corev1.Pod{}
				o = p
			case "endpointslices":
				o = &discoveryv1.EndpointSlice{}
			default:
				o = &corev1.Node{}
			}
			if err := json.Unmarshal(ev.Object, o); err != nil {
				panic(err)
			}
			frame(ev.Type, o)
			if ev.Type == "BOOKMARK" {
				continue
			} // stands in no list
			switch v := o.(type) {
			case *corev1.Pod:
				pods.Items = append(pods.Items, *v)
			case *discoveryv1.EndpointSlice:
				slices.Items = append(slices.Items, *v)
			case *corev1.Node:
				nodes.Items = append(nodes.Items, *v)
			}
		}
		if kind == "pods" {
			b := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "4900", Annotations: map[string]string{"k8s.io/initial-events-end": "true"}}}
			b.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
			frame("BOOKMARK", b)
			s := &metav1.Status{Status: "Failure", Message: "too old resource version: 5 (9)", Reason: metav1.StatusReasonExpired, Code: 410, Details: &metav1.StatusDetails{RetryAfterSeconds: 3}}
			s.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Status"})
			frame("ERROR", s)
			os.WriteFile(out+"/status.pb", enc(s), 0o644)
		}
		os.WriteFile(out+"/"+kind+".watch.pb", stream.Bytes(), 0o644)
		var list runtime.Object
		switch kind {
		case "pods":
			list = pods
		case "endpointslices":
			list = slices
		default:
			list = nodes
		}
		os.WriteFile(out+"/"+kind+".list.pb", enc(list), 0o644)
		fmt.Println(kind, stream.Len())
	}
}
